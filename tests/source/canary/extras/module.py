import os  


def twice():
    pass


def twice():
    pass
