"""Training recipes: one file each, with a frozen `Config` and a function `train`; `loop` is what they share."""
