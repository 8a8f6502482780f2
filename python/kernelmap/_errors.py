"""The one exception of the package."""


class DumpError(ValueError):
    """Something of a Python mapping that a config cannot say. The message names where it stands."""

    def __init__(self, where: str, what: str):
        super().__init__(f"{where}: {what}")
        self.where = where
