//! Rows as tables in Markdown: one for each part, and the exponents of curves.

use std::collections::BTreeSet;

use crate::fit::{exponent, upper_exponent};
use crate::measurement::{Metric, Row, number};

/// The tables of all parts, in the order of the rows.
pub fn all(rows: &[Row]) -> String {
    let tables: Vec<_> = distinct(rows, |row| &row.part)
        .into_iter()
        .flat_map(|part| {
            let rows: Vec<_> = rows.iter().filter(|row| row.part == part).cloned().collect();
            let exponents = exponents(part, &rows);
            let picture = exponents.as_ref().map(|_| format!("![{part}](results/{part}.svg)"));
            [Some(table(part, &rows)), exponents, picture]
        })
        .flatten()
        .collect();
    tables.join("\n\n")
}

/// The values of a property in the order of their first rows.
pub fn distinct<'a>(rows: &'a [Row], property: impl Fn(&'a Row) -> &'a str) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    rows.iter().map(property).filter(|value| seen.insert(*value)).collect()
}

/// The figures that some row has.
fn metrics(rows: &[Row]) -> BTreeSet<Metric> {
    rows.iter().flat_map(|row| row.figures.keys().copied()).collect()
}

/// All rows of a part, by case.
fn table(part: &str, rows: &[Row]) -> String {
    let metrics = metrics(rows);
    let titles: String = metrics.iter().map(|metric| format!(" {} |", metric.title())).collect();
    let mut lines = vec![format!("| {part} | |{titles}"), format!("| --- | --- |{}", " ---: |".repeat(metrics.len()))];
    for case in distinct(rows, |row| &row.case) {
        for row in rows.iter().filter(|row| row.case == case) {
            let size = row.size.map(|size| format!(", {}", grouped(size))).unwrap_or_default();
            let cells: String = metrics.iter().map(|metric| cell(row, *metric)).collect();
            lines.push(format!("| {case}{size} | {} |{cells}", row.subject));
        }
    }
    lines.join("\n")
}

fn cell(row: &Row, metric: Metric) -> String {
    row.median(metric).map_or_else(|| " |".to_owned(), |value| format!(" {} |", metric.text(value)))
}

/// The exponents of a part's curves, of all sizes and of the upper half; `None` if it has no sizes.
fn exponents(part: &str, rows: &[Row]) -> Option<String> {
    let mut lines = Vec::new();
    for case in distinct(rows, |row| &row.case) {
        for subject in distinct(rows, |row| &row.subject) {
            let curve: Vec<_> = rows.iter().filter(|row| row.case == case && row.subject == subject).cloned().collect();
            let cells: Vec<_> = metrics(rows).into_iter().map(|metric| growth(&points(&curve, metric))).collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                lines.push(format!("| {case} | {subject} | {} |", cells.join(" | ")));
            }
        }
    }
    if lines.is_empty() {
        return None;
    }
    let titles: Vec<_> = metrics(rows).into_iter().map(Metric::title).collect();
    let head = format!("| {part}: exponents, of the upper half | | {} |", titles.join(" | "));
    let rule = format!("| --- | --- |{}", " ---: |".repeat(titles.len()));
    Some([head, rule].into_iter().chain(lines).collect::<Vec<_>>().join("\n"))
}

/// The sizes and the medians of a figure.
pub fn points(curve: &[Row], metric: Metric) -> Vec<(f64, f64)> {
    let point = |row: &Row| Some((number(usize::try_from(row.size?).ok()?), row.median(metric)?));
    let mut points: Vec<_> = curve.iter().filter_map(point).collect();
    points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// Both exponents as text; empty if there are none.
fn growth(points: &[(f64, f64)]) -> String {
    // Not "-0.00".
    let text = |exponent: f64| format!("{:.2}", (exponent * 100.0).round() / 100.0 + 0.0);
    match (exponent(points), upper_exponent(points)) {
        (Some(whole), Some(upper)) => format!("{}, {}", text(whole), text(upper)),
        (Some(whole), None) => text(whole),
        _ => String::new(),
    }
}

/// A number with commas.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_table_by_case() {
        let row = |case: &str, subject: &str| Row::new("stdio", case, subject);
        let rows = [
            row("one at a time", "relay").with(Metric::MedianUs, 20.0).with(Metric::PeakMb, 3.0),
            row("64 in flight", "relay").with(Metric::PerSecond, 500_000.0),
            row("one at a time", "pmcp").with(Metric::MedianUs, 28.44),
        ];
        let expected = "\
| stdio | | median, µs | per second | peak memory, MB |
| --- | --- | ---: | ---: | ---: |
| one at a time | relay | 20.0 | | 3.0 |
| one at a time | pmcp | 28.4 | | |
| 64 in flight | relay | | 500000 | |";
        assert_eq!(all(&rows), expected);
    }

    #[test]
    fn a_curve_has_its_exponents() {
        let rows = [1, 10, 100, 1_000].map(|size| {
            let row = Row::new("curve-tools", "whole list", "pmcp").sized(size);
            row.with(Metric::CpuUs, 5.0 * number(size)).with(Metric::MemoryMb, 9.0)
        });
        let text = all(&rows);
        assert!(text.contains("\n| whole list, 1,000 | pmcp | 5000.0 | 9.0 |"), "{text}");
        assert!(text.contains("\n| whole list | pmcp | 1.00, 1.00 | 0.00, 0.00 |\n"), "{text}");
        assert!(text.ends_with("\n![curve-tools](results/curve-tools.svg)"), "{text}");
    }

    #[test]
    fn digits_are_in_groups_of_three() {
        let texts = [0, 999, 1_000, 256_000_000].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "256,000,000"]);
    }
}
