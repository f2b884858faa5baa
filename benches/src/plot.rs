//! Growth curves as pictures: SVG with logarithmic axes, a panel for each figure, a line for each subject.

use std::fmt::Write;

use crate::measurement::{Metric, Row};
use crate::tables::{distinct, grouped, points};

/// The size of a panel without its margins, in pixels.
const PANEL: (f64, f64) = (320.0, 240.0);
/// The margin around a panel, in pixels.
const MARGIN: f64 = 60.0;
/// The height of a line of the legend, in pixels.
const LINE: f64 = 18.0;
/// Colours that people with any vision tell apart (Okabe and Ito).
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];
/// The colour of the lines of decades.
const GRID: &str = "#dddddd";
/// The figures that are drawn, if they were measured.
const DRAWN: [Metric; 6] =
    [Metric::MedianUs, Metric::TotalMs, Metric::CpuUs, Metric::TotalCpuMs, Metric::PeakMb, Metric::GrowthMb];

/// A point: pixels from the left and from the top, or a value of each axis.
type Point = (f64, f64);

/// The picture of a part, of which all rows have sizes; `None` if there is nothing to draw.
pub fn picture(part: &str, rows: &[Row]) -> Option<String> {
    let rows: Vec<Row> = rows.iter().filter(|row| row.part == part && row.size.is_some()).cloned().collect();
    let mut curves = Vec::new();
    for case in distinct(&rows, |row| &row.case) {
        for subject in distinct(&rows, |row| &row.subject) {
            let curve: Vec<_> = rows.iter().filter(|row| row.case == case && row.subject == subject).cloned().collect();
            if !curve.is_empty() {
                curves.push((format!("{case}, {subject}"), curve));
            }
        }
    }
    let mut panels = Vec::new();
    for metric in DRAWN {
        let lines: Vec<Vec<_>> = curves.iter().map(|(_, curve)| positive(points(curve, metric))).collect();
        panels.extend(Panel::new(metric, lines));
    }
    (!panels.is_empty()).then(|| drawn(part, &panels, &curves))
}

fn positive(points: Vec<Point>) -> Vec<Point> {
    points.into_iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).collect()
}

/// The lines of one figure, and the decades that they span.
struct Panel {
    metric: Metric,
    lines: Vec<Vec<Point>>,
    x: (i32, i32),
    y: (i32, i32),
}

impl Panel {
    /// `None` without points.
    fn new(metric: Metric, lines: Vec<Vec<Point>>) -> Option<Self> {
        let x = decades(lines.iter().flatten().map(|(x, _)| *x))?;
        let y = decades(lines.iter().flatten().map(|(_, y)| *y))?;
        Some(Self { metric, lines, x, y })
    }

    /// The place of a point in the panel, whose corner is at `left` and [`MARGIN`].
    fn place(&self, left: f64, point: Point) -> Point {
        let (x, y) = point;
        let share = |value: f64, (low, high): (i32, i32)| (value.log10() - f64::from(low)) / f64::from(high - low);
        (left + PANEL.0 * share(x, self.x), MARGIN + PANEL.1 * (1.0 - share(y, self.y)))
    }

    fn draw(&self, left: f64, svg: &mut String) {
        let (right, bottom) = (left + PANEL.0, MARGIN + PANEL.1);
        text(svg, (left, MARGIN - 12.0), "start", self.metric.title());
        for decade in self.x.0..=self.x.1 {
            let (at, _) = self.place(left, (10_f64.powi(decade), 1.0));
            rule(svg, (at, MARGIN), (at, bottom));
            text(svg, (at, bottom + 16.0), "middle", &power(decade));
        }
        for decade in self.y.0..=self.y.1 {
            let (_, at) = self.place(left, (1.0, 10_f64.powi(decade)));
            rule(svg, (left, at), (right, at));
            text(svg, (left - 4.0, at + 4.0), "end", &power(decade));
        }
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let places = line.iter().map(|point| self.place(left, *point));
            let places: Vec<_> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(svg, r#"<polyline points="{}" stroke="{colour}"/>"#, places.join(" "));
        }
    }
}

/// The whole decades around some values; `None` without values.
fn decades(values: impl Iterator<Item = f64> + Clone) -> Option<(i32, i32)> {
    let low = values.clone().map(f64::log10).fold(f64::INFINITY, f64::min);
    let high = values.map(f64::log10).fold(f64::NEG_INFINITY, f64::max);
    if !low.is_finite() || !high.is_finite() {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "logarithms of doubles are below 400")]
    let (low, high) = (low.floor() as i32, high.ceil() as i32);
    Some((low, high.max(low + 1)))
}

fn drawn(part: &str, panels: &[Panel], curves: &[(String, Vec<Row>)]) -> String {
    let (mut lefts, mut width) = (Vec::new(), 0.0);
    for _ in panels {
        lefts.push(width + MARGIN);
        width += PANEL.0 + 1.5 * MARGIN;
    }
    let legend = PANEL.1 + 2.0 * MARGIN;
    let heights = curves.iter().scan(legend, |at, _| {
        *at += LINE;
        Some(*at)
    });
    let heights: Vec<f64> = heights.collect();
    let height = heights.last().copied().unwrap_or(legend) + LINE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\" fill=\"none\" stroke-width=\"2\">\n<title>{part}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (panel, left) in panels.iter().zip(lefts) {
        panel.draw(left, &mut svg);
    }
    for (((name, _), at), colour) in curves.iter().zip(heights).zip(COLOURS.iter().cycle()) {
        let (start, end) = (MARGIN, MARGIN + 24.0);
        // Writing to a string cannot fail.
        let _ = writeln!(svg, r#"<path d="M{start} {at}H{end}" stroke="{colour}"/>"#);
        text(&mut svg, (end + 8.0, at + 4.0), "start", name);
    }
    svg + "</svg>\n"
}

fn rule(svg: &mut String, from: Point, to: Point) {
    let ((x1, y1), (x2, y2)) = (from, to);
    // Writing to a string cannot fail.
    let _ = writeln!(svg, r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{GRID}"/>"#);
}

fn text(svg: &mut String, at: Point, anchor: &str, words: &str) {
    let (x, y) = at;
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    // Writing to a string cannot fail.
    let _ = writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="black">{words}</text>"#);
}

/// A power of ten as a number.
fn power(decade: i32) -> String {
    match u32::try_from(decade) {
        Ok(decade) => grouped(10_u64.saturating_pow(decade)),
        Err(_) => format!("{}", 10_f64.powi(decade)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_becomes_a_line() {
        let rows = [(10, 1.0), (1_000, 100.0)]
            .map(|(size, value)| Row::new("curve-tools", "list", "a<b").sized(size).with(Metric::MedianUs, value));
        let svg = picture("curve-tools", &rows).unwrap();
        assert_eq!(svg.matches("<polyline").count(), 1, "{svg}");
        assert!(svg.contains(r#"points="60.0,300.0 380.0,60.0""#), "{svg}");
        assert!(svg.contains(">1,000</text>") && svg.contains("list, a&lt;b"), "{svg}");
        assert_eq!(picture("curve-results", &rows), None);
    }

    #[test]
    fn decades_surround_the_values() {
        assert_eq!(decades([3.0, 1_200.0].into_iter()), Some((0, 4)));
        assert_eq!(decades([100.0].into_iter()), Some((2, 3)));
        assert_eq!(decades([0.05].into_iter()), Some((-2, -1)));
        assert_eq!(decades(std::iter::empty()), None);
    }
}
