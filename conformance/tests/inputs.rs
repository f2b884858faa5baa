//! Classes of input that are odd and right, everywhere where they enter: `conformance/INPUTS.md`.

#[path = "inputs/byte_order_marks.rs"]
mod byte_order_marks;
#[path = "inputs/environments.rs"]
mod environments;
#[path = "inputs/escapes.rs"]
mod escapes;
#[path = "inputs/links.rs"]
mod links;
#[path = "inputs/long_lines.rs"]
mod long_lines;
