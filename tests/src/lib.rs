//! Nothing to use: the suites are the test targets in the folders beside this one.
