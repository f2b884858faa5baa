//! The comments of files, by the place that they belong to.

use std::collections::{BTreeMap, HashMap};

use prost_reflect::FileDescriptor;

/// The comments of the files that were asked for, each read once.
#[derive(Default)]
pub(super) struct Comments(BTreeMap<String, HashMap<Vec<i32>, String>>);

impl Comments {
    /// The comment at a place of a file, or an empty text.
    pub(super) fn at(&mut self, path: &[i32], file: &FileDescriptor) -> String {
        if !self.0.contains_key(file.name()) {
            self.0.insert(file.name().to_owned(), read(file));
        }
        self.0.get(file.name()).and_then(|comments| comments.get(path)).cloned().unwrap_or_default()
    }
}

fn read(file: &FileDescriptor) -> HashMap<Vec<i32>, String> {
    let locations = file.file_descriptor_proto().source_code_info.iter().flat_map(|info| &info.location);
    let comments = locations.filter_map(|location| {
        let text = location.leading_comments.as_deref().or(location.trailing_comments.as_deref())?;
        let lines: Vec<&str> = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end()).collect();
        Some((location.path.clone(), lines.join("\n").trim().to_owned()))
    });
    comments.collect()
}
