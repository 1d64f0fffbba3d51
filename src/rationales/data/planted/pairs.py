PAIR_LABELS=(); pairs=None
