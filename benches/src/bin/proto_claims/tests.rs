//! Items 77 to 79 of the checklist of proto-mcp: the tables, the measurements, and a verdict for each claim.

use std::time::Duration;

use serde_json::json;
use tokio::sync::OnceCell;

use super::*;

/// The document as it is committed.
const COMMITTED: &str = include_str!("../../../../docs/proto-mcp-claims.md");

/// A folder with two lists of tools, eight and four of them.
fn captured() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let tool = |list: &str, number: usize| {
        json!({
            "name": format!("{list}_{number}"),
            "description": format!("Looks into the {list} of number {number}. A text that only the list has."),
            "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
            "annotations": {"readOnlyHint": true},
        })
    };
    for (name, count) in [("first", 8), ("second", 4)] {
        let tools: Vec<_> = (0..count).map(|number| tool(name, number)).collect();
        let text = json!({ "tools": tools }).to_string();
        std::fs::write(folder.path().join(format!("{name}.json")), text).expect("a file");
    }
    folder
}

/// The cells of the first row of a table that begins like this.
fn row<'a>(document: &'a str, beginning: &str) -> Vec<&'a str> {
    let found = document.lines().find(|line| line.trim_start_matches(['|', ' ', '*']).starts_with(beginning));
    let line = found.unwrap_or_else(|| panic!("no row {beginning:?} in:\n{document}"));
    line.trim_matches(['|', ' ']).split(" | ").map(str::trim).collect()
}

fn number(cell: &str) -> f64 {
    let text = cell.split_whitespace().next().unwrap_or_default();
    text.parse().unwrap_or_else(|error| panic!("{cell:?}: {error}"))
}

/// A document, which is written once in a process.
async fn written() -> &'static str {
    static DOCUMENT: OnceCell<String> = OnceCell::const_new();
    let write = async || {
        let lists = lists::read(captured().path()).expect("lists");
        document(&lists, &registry::measure().await.expect("times")).expect("a document")
    };
    DOCUMENT.get_or_init(write).await
}

#[tokio::test]
async fn the_tables_of_tokens_come_from_captured_lists() {
    let document = written().await;
    let lists = lists::read(captured().path()).expect("lists");
    let again = tokens::table(&tokens::columns(bpe_openai::cl100k_base(), &lists, &[10, 50]));
    let control = again.lines().find(|line| line.contains("control: ")).expect("a control").trim_end_matches('|');
    assert!(document.contains(control), "a second run gives the same figures: {control}");
    assert!(document.contains("12 tools of 2 lists"), "{document}");
    assert!(!document.contains("A text that only the list has"), "texts are not stored");
    assert_eq!(row(document, "first |")[2], "8");
    assert_eq!(row(document, "second |")[2], "4");
    let sizes = row(document, "shown to the model");
    assert_eq!(sizes[1..], ["10", "50 (resampled)", "100 (resampled)", "500 (resampled)"]);
    let (all, control) = (row(document, "JSON `tools/list`"), row(document, "control: JSON with name and description"));
    let changes = control.iter().zip(&all).skip(1).map(|(control, all)| {
        let change = control.split_once('(').expect("a change").1;
        (100.0 * (number(control) / number(all) - 1.0), number(change))
    });
    for (computed, printed) in changes {
        assert!(computed < -30.0 && (computed - printed).abs() < 2.0, "{computed} {printed}");
    }
}

/// The relations hold on any machine and in any build: what is cached is not fetched, and what is loaded is not loaded again.
#[tokio::test]
async fn each_step_of_a_call_is_measured_next_to_its_peer() {
    let times = registry::measure().await.expect("times");
    let fetched = times.first.iter().map(|(_, time)| *time).min().expect("a first time");
    assert!(times.cached.0 * 10 < fetched, "{:?} in memory, {fetched:?} from the registry", times.cached.0);
    assert!(times.with_check.0 * 5 < fetched, "{:?} with a check, {fetched:?}", times.with_check.0);
    assert!(times.cached.0 * 10 < times.disk, "{:?} in memory, {:?} from the disk", times.cached.0, times.disk);
    let steps = speed::steps().expect("steps");
    let step = |what: &str| steps.iter().find(|step| step.what == what).expect("it is measured").time;
    let loaded = step("load a descriptor set");
    for what in ["JSON arguments to a message by descriptor", "encode it", "decode it", "check its rules"] {
        assert!(step(what) > Duration::ZERO && step(what) * 5 < loaded, "{what}: {:?}, {loaded:?}", step(what));
    }
    let folder = captured();
    let pairs = speed::pairs(&lists::read(folder.path()).expect("lists"));
    let measured: Vec<_> = pairs.iter().map(|pair| pair.what).collect();
    assert_eq!(measured.len(), 4, "{measured:?}");
    for pair in pairs {
        assert!(pair.protobuf > Duration::ZERO && pair.json > Duration::ZERO, "{}", pair.what);
        assert!(pair.bytes.0 < pair.bytes.1, "{}: {:?}", pair.what, pair.bytes);
    }
}

#[tokio::test]
async fn each_claim_has_figures_and_the_verdict_of_them() {
    for document in [written().await, COMMITTED] {
        for size in SIZES {
            let [_, measured, control, verdict] = row(document, &format!("99 % fewer tokens at {size} tools"))[..]
            else {
                panic!("a claim has four cells")
            };
            let (list, search) = (number(measured), number(measured.rsplit("; ").next().expect("a search")));
            let judged = match () {
                () if list <= -99.0 => "holds",
                // Rounded to a tenth of a percent.
                () if search < -99.05 => "does not hold for a list; holds for a search, before any schema is read",
                () => "does not hold",
            };
            assert!(verdict == judged || (-99.05..=-98.95).contains(&search), "{size}: {measured}: {verdict}");
            assert!(number(control) < 0.0, "{control}");
        }
        for claim in ["serialization is 5 times faster", "a cached schema takes less than 1 ms", "0.1 ms to encode"] {
            let [_, measured, control, verdict] = row(document, claim)[..] else { panic!("a claim has four cells") };
            assert!(measured.contains(|sign: char| sign.is_ascii_digit()) && !control.is_empty(), "{claim}");
            assert!(["holds", "does not hold", "not judged"].iter().any(|word| verdict.starts_with(word)), "{verdict}");
        }
    }
    assert!(!COMMITTED.contains("not judged"), "the committed figures are of a release build");
}

/// The README has the figures, too, and links to their document.
#[test]
fn the_committed_verdicts_follow_from_their_figures() {
    const README: &str = include_str!("../../../../README.md");
    let claim = |beginning| (row(COMMITTED, beginning)[1], row(COMMITTED, beginning)[3]);
    let (ratios, verdict) = claim("serialization is 5 times faster");
    let (least, most) = ratios.split_once(" to ").expect("two ratios");
    let expected = match (number(least) >= 5.0, number(most) >= 5.0) {
        (true, _) => "holds",
        (false, true) => "holds for some messages",
        (false, false) => "does not hold",
    };
    assert_eq!(verdict, expected, "{ratios}");
    // Times from a thousandth of a second are written in milliseconds.
    let (cached, verdict) = claim("a cached schema takes less than 1 ms");
    assert_eq!(verdict, if cached.ends_with("µs") { "holds" } else { "does not hold" }, "{cached}");
    let (encoded, verdict) = claim("0.1 ms to encode");
    let encoded = encoded.strip_prefix("at most ").and_then(|text| text.split_once(" in protobuf")).expect("a time").0;
    let is_fast = encoded.ends_with("µs") && number(encoded) <= 100.0;
    assert_eq!(verdict, if is_fast { "holds" } else { "does not hold" }, "{encoded}");
    let cached = cached.split(',').next().expect("a median");
    for text in
        ["(docs/proto-mcp-claims.md)", &format!("({cached})"), &format!("({encoded} at most)"), &format!("({most})")]
    {
        assert!(README.contains(text), "the README has {text}");
    }
}
