"""The one exception that ends the tool with a message instead of a traceback: something the user can mend."""


class BenchError(Exception):
    pass
