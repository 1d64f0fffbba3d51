"""Papers' tables, repeated: `rationales reproduce <table>`."""
