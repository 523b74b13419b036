/* C++ where none may be. */
int wrong();
