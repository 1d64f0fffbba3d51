"""Papers' tables, repeated: `rationales reproduce <table>`."""

from rationales.reproduce import (
    arec_table1,
    arec_table3,
    arec_table4,
    planted_links,
    planted_rationalizers,
    regex_settings,
    regex_table1,
    regex_table2,
    regex_table3,
    regex_table4,
    regex_table6,
    ver_table1,
    ver_table3,
)
from rationales.reproduce.tables import Options, Table, reproduce, tables

__all__ = [
    "Options",
    "Table",
    "arec_table1",
    "arec_table3",
    "arec_table4",
    "planted_links",
    "planted_rationalizers",
    "regex_settings",
    "regex_table1",
    "regex_table2",
    "regex_table3",
    "regex_table4",
    "regex_table6",
    "reproduce",
    "tables",
    "ver_table1",
    "ver_table3",
]
