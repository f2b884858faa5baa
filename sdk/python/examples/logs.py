"""The program's own log in the client: pmcp dev logs.py.

Records of `logging` in a handler become log messages of its call; the client chooses the level.
"""

import logging

from protomcp import tool

# Without this, Python itself drops all that is less than a warning.
logging.getLogger().setLevel("DEBUG")
database = logging.getLogger("database")


@tool("Imports rows.", name="import")
def import_rows(rows: int) -> str:
    logging.debug("begins with %d rows", rows)
    if rows > 100:
        database.warning("%d rows are slow", rows)
    logging.info("imported")
    return f"{rows} rows"
