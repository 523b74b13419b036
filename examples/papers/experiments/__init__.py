"""One experiment, one module: NAME, TITLE, ORDER and run(lab). See ../README.md."""
