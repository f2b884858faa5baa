//! The README of the project, so that its examples are compiled.

#![doc = include_str!("../../../README.md")]
