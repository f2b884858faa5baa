//! The view as a person sees it: facts and keys in, lines and wishes out.

use super::*;
use crate::keys::Keys;
use crate::screen::Size;

const WIDE: Size = Size { columns: 80, rows: 40 };
const SECOND: Duration = Duration::from_secs(1);

fn started(call: u64, tool: &str) -> Fact {
    Fact::Started { call, tool: tool.to_owned() }
}

fn ended(call: u64, tool: &str, outcome: Outcome, why: &str) -> Fact {
    Fact::Ended { call, tool: tool.to_owned(), outcome, took: Duration::from_millis(12), bytes: 1_234, why: why.into() }
}

fn view(facts: impl IntoIterator<Item = Fact>) -> View {
    let mut view = View::new("weather.py");
    view.note(Fact::Address("http://127.0.0.1:8080/mcp".into()), Duration::ZERO);
    facts.into_iter().for_each(|fact| view.note(fact, Duration::ZERO));
    view
}

fn texts(view: &View, size: Size, now: Duration) -> Vec<String> {
    view.lines(size, now).iter().map(crate::line::Line::text).collect()
}

/// The wishes behind these keys.
fn typed(view: &mut View, keys: &str) -> Vec<Wish> {
    Keys::default().read(keys.as_bytes()).iter().filter_map(|key| view.key(key)).collect()
}

#[test]
fn a_server_is_shown_with_its_calls() {
    let view = view([
        Fact::State(State::Ready),
        Fact::Tools { count: 2, names: "alerts, forecast".into() },
        Fact::Changed("added alerts".into()),
        ended(1, "alerts", Outcome::Ok, ""),
        ended(2, "forecast", Outcome::Failed, "no such city"),
        ended(3, "forecast", Outcome::Cancelled, ""),
        started(4, "forecast"),
    ]);
    assert_eq!(
        texts(&view, WIDE, 61 * SECOND),
        [
            "● weather.py · ready · 2 tools · http://127.0.0.1:8080/mcp",
            "  alerts, forecast",
            "  added alerts",
            "  ▸ forecast  1 min 01 s",
            "  ✓ alerts  12 ms  1.2 kB",
            "  ✗ forecast  12 ms  no such city",
            "  – forecast  12 ms  cancelled",
            "r reload · c call a tool · q quit",
        ]
    );
}

#[test]
fn a_view_keeps_to_half_of_any_window() {
    let many =
        (0..20).map(|call| started(call, "forecast")).chain((0..9).map(|call| ended(call, "a", Outcome::Ok, "")));
    let view = view([Fact::Tools { count: 1, names: "forecast".into() }].into_iter().chain(many));
    for rows in 0..60 {
        for columns in [0, 1, 2, 10, 40, 200] {
            let lines = view.lines(Size { columns, rows }, SECOND);
            assert!(!lines.is_empty() && lines.len() <= usize::from(rows / 2).clamp(1, 14), "{rows} rows");
            assert!(lines.iter().all(|line| line.width() < usize::from(columns.max(1)).max(2)), "{columns} columns");
        }
    }
    let narrow = texts(&view, Size { columns: 20, rows: 8 }, SECOND);
    assert_eq!(narrow, ["● weather.py · sta…", "  ▸ forecast  1 s", "  … 10 more running", "r reload · c call …"]);
    assert_eq!(texts(&view, Size { columns: 20, rows: 2 }, SECOND), ["● weather.py · sta…"]);
}

#[test]
fn calls_beyond_the_limit_are_counted() {
    let many = MAX_RUNNING as u64 + 10;
    let mut view = view((0..many).map(|call| started(call, "a")));
    assert!(texts(&view, WIDE, SECOND).contains(&format!("  … {} more running", many - 11)));
    for call in 0..many {
        view.note(ended(call, "a", Outcome::Ok, ""), SECOND);
    }
    assert_eq!((view.running.len(), view.uncounted, view.ended.len()), (0, 0, MAX_ENDED));
    assert!(!view.is_moving());
}

#[test]
fn each_key_is_a_wish() {
    let mut view = view([Fact::Names(vec!["forecast".into()])]);
    assert_eq!(typed(&mut view, "r"), [Wish::Reload]);
    assert_eq!(typed(&mut view, "xz\r\x1b[A"), []);
    let call = Wish::Call("forecast city=Ulm".into());
    assert_eq!(typed(&mut view, "cfor\tcity=Ulm\r"), [Wish::Names, call.clone()]);
    assert_eq!(typed(&mut view, "c\x1b[A\r"), [Wish::Names, call], "the last line comes back");
    assert_eq!(typed(&mut view, "cr\x04\x7f\r"), [Wish::Names], "an empty line calls nothing");
    assert_eq!(typed(&mut view, "q\x04"), [Wish::Quit, Wish::Quit]);
}

#[test]
fn a_question_interrupts_a_line_that_goes_on() {
    let mut view = view([]);
    typed(&mut view, "cfore");
    view.ask("city");
    assert!(texts(&view, WIDE, SECOND).contains(&"city  ".to_owned()));
    assert_eq!(typed(&mut view, "Ulm\r"), [Wish::Answer("Ulm".into())]);
    assert_eq!(typed(&mut view, "cast\r"), [Wish::Call("forecast".into())]);
    view.ask("city");
    assert_eq!(typed(&mut view, "\x04"), [Wish::Dismiss]);
    view.ask("city");
    view.withdraw();
    assert_eq!(typed(&mut view, "r"), [Wish::Reload]);
}

#[test]
fn a_server_that_drains_stays_so() {
    let view = view([Fact::State(State::Draining), Fact::State(State::Crashed)]);
    assert_eq!(texts(&view, WIDE, SECOND)[0], "● weather.py · running calls end · http://127.0.0.1:8080/mcp");
}
