//! Checks of the whole product against parts it did not write.
