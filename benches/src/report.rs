//! The report of a run: its circumstances and rows, as a file and as text.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::goals;
use crate::machine::Machine;
use crate::measurement::Row;
use crate::tables;

/// The marks of the part of a document that is written by [`Report::write_into`].
const BEGIN: &str = "<!-- made by cargo bench -p protomcp-benches --bench bridge -- --report -->";
const END: &str = "<!-- until here -->";

/// The figures of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The circumstances.
    pub machine: Machine,
    /// All rows, in the order in which they were measured first.
    pub rows: Vec<Row>,
}

impl Report {
    /// Reads a file that [`write`](Self::write) has written.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or has another form.
    pub fn read(path: &Path) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let text = fs::read_to_string(path).map_err(named)?;
        serde_json::from_str(&text).map_err(|error| named(error.into()))
    }

    /// Writes all figures to a file, one row a line, so that differences between runs can be read. A folder that does
    /// not exist is made.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let rows = self.rows.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        let machine = serde_json::to_string_pretty(&self.machine)?;
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, format!("{{\n\"machine\": {machine},\n\"rows\": [\n{}\n]\n}}\n", rows.join(",\n")))
    }

    /// The circumstances, the goals and all tables, as Markdown.
    pub fn text(&self) -> String {
        let sections = [self.machine.text(), goals::table(&self.rows), tables::all(&self.rows)];
        let sections: Vec<_> = sections.into_iter().filter(|section| !section.is_empty()).collect();
        sections.join("\n\n")
    }

    /// Replaces the part of a document between the marks by the texts of these reports.
    ///
    /// # Errors
    ///
    /// If the document cannot be read or written, or does not have the marks.
    pub fn write_into(document: &Path, reports: &[Self]) -> io::Result<()> {
        let old = fs::read_to_string(document)?;
        let texts: Vec<_> = reports.iter().map(Self::text).collect();
        let new = replaced(&old, &texts.join("\n\n"));
        let missing = || io::Error::other(format!("{} has no marks: {BEGIN} … {END}", document.display()));
        fs::write(document, new.ok_or_else(missing)?)
    }
}

/// The document with this text between the marks; `None` without marks.
fn replaced(document: &str, text: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{text}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Metric;

    #[test]
    fn a_report_survives_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bridge.json");
        let machine = Machine { rounds: 2, load: vec![0.5, 0.75], ..Machine::default() };
        let rows = vec![
            Row::new("stdio", "one at a time", "pmcp").with(Metric::MedianUs, 101.25),
            Row::new("curve-tools", "whole list", "pmcp").sized(10).with(Metric::CpuUs, 3.0),
        ];
        let report = Report { machine, rows };
        report.write(&path).unwrap();
        assert_eq!(Report::read(&path).unwrap(), report);
        assert_eq!(fs::read_to_string(&path).unwrap().matches("\n{\"part\"").count(), 2);
        fs::write(&path, "{}").unwrap();
        let error = Report::read(&path).unwrap_err().to_string();
        assert!(error.contains("bridge.json") && error.contains("machine"), "{error}");
    }

    #[test]
    fn text_is_replaced_between_the_marks_alone() {
        let document = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        assert_eq!(replaced(&document, "new"), Some(format!("before\n{BEGIN}\nnew\n{END}\nafter\n")));
        assert_eq!(replaced("before\nafter\n", "new"), None);
    }
}
