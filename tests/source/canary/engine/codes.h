#define GLINT_CODES(X)                                                                             \
    X(101, USAGE,              64, 0, "bad command line")                                          \
    X(101, UNKNOWN_OPTION,     64, 0, "a number used twice, in no document and in no test")
