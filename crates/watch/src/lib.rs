//! File changes, filtered and debounced, as batches.
