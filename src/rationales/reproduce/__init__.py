"""Papers' tables, repeated: `rationales reproduce <table>`."""

from rationales.reproduce import ver_table1
from rationales.reproduce.tables import Options, Table, reproduce, tables

__all__ = ["Options", "Table", "reproduce", "tables", "ver_table1"]
