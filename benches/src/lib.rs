//! Benches per layer.
