"""One module per experiment, with NAME, TITLE, ORDER and run(lab). See ../README.md."""
