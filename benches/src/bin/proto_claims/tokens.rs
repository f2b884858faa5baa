//! The tokens of a list of tools in each form that a model could be shown.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bpe_openai::Tokenizer;
use prost::Message as _;
use protomcp_bufmcp::message::{ListToolsResponse, McpMessage, Payload, Tool as ProtoTool, tool::SchemaSource};
use serde_json::{Value, json};

use crate::lazy;
use crate::lists::{List, Tool};

/// The sizes of the samples.
pub(crate) const SIZES: [usize; 4] = [10, 50, 100, 500];

/// The samples of each size, and of a size that has to be drawn with repetition.
pub(crate) const SAMPLES: usize = if cfg!(test) { 3 } else { 30 };
pub(crate) const RESAMPLES: usize = if cfg!(test) { 1 } else { 5 };

/// A form, and its text for some tools.
type Form = (&'static str, fn(&[&Tool]) -> String);

/// The first form is the one that others are compared with.
const FORMS: &[Form] = &[
    ("JSON `tools/list`, compact", full),
    ("JSON with name, description and input schema", essential),
    ("**base64 of ListToolsResponse with references** (the claim's method)", references),
    ("text `name: description (reference)`", |tools| lines(tools, described_with_reference)),
    ("text `name: description`", |tools| lines(tools, described)),
    ("**control: JSON with name and description, no protobuf**", control),
    ("text with the first sentence of the description", |tools| lines(tools, first_sentence)),
    ("names only", |tools| lines(tools, |tool| tool.name.clone())),
    ("base64 of ListToolsResponse with inline schemas", inline),
    (".proto text of the schemas", |tools| lines(tools, |tool| tool.converted.text())),
    ("search: `name: description` of five tools", |tools| lines(&tools[..tools.len().min(5)], described)),
    ("**`--lazy-tools`: the three definitions**", lazy::definitions),
    ("**`--lazy-tools`: the definitions, three searches and the schemas of three tools**", lazy::session),
];

fn full(tools: &[&Tool]) -> String {
    json!({"tools": tools.iter().map(|tool| &tool.json).collect::<Vec<_>>()}).to_string()
}

fn essential(tools: &[&Tool]) -> String {
    some_members(tools, &["name", "description", "inputSchema"])
}

fn control(tools: &[&Tool]) -> String {
    some_members(tools, &["name", "description"])
}

fn some_members(tools: &[&Tool], keys: &[&str]) -> String {
    let member = |tool: &Tool| -> Value {
        keys.iter()
            .filter_map(|key| Some(((*key).to_owned(), tool.json.get(key)?.clone())))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    json!({"tools": tools.iter().map(|tool| member(tool)).collect::<Vec<_>>()}).to_string()
}

fn references(tools: &[&Tool]) -> String {
    response(tools, |tool| SchemaSource::BsrRef(tool.reference.clone()))
}

fn inline(tools: &[&Tool]) -> String {
    response(tools, |tool| SchemaSource::InlineSchema(tool.converted.descriptor_set().into()))
}

fn response(tools: &[&Tool], source: impl Fn(&Tool) -> SchemaSource) -> String {
    let message = |tool: &&Tool| proto_tool(tool, source(tool));
    let response = ListToolsResponse { tools: tools.iter().map(message).collect(), ..Default::default() };
    let message = McpMessage { id: 2, payload: Some(Payload::ListToolsResponse(response)) };
    STANDARD.encode(message.encode_to_vec())
}

/// A tool as a server of proto-mcp lists it.
pub(crate) fn proto_tool(tool: &Tool, source: SchemaSource) -> ProtoTool {
    ProtoTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        schema_source: Some(source),
        ..Default::default()
    }
}

fn lines(tools: &[&Tool], line: impl Fn(&Tool) -> String) -> String {
    tools.iter().map(|tool| line(tool) + "\n").collect()
}

fn described(tool: &Tool) -> String {
    format!("{}: {}", tool.name, tool.description)
}

fn described_with_reference(tool: &Tool) -> String {
    format!("{}: {} ({})", tool.name, tool.description, tool.reference)
}

fn first_sentence(tool: &Tool) -> String {
    let text = tool.description.lines().next().unwrap_or_default();
    format!("{}: {}", tool.name, text.split_inclusive(". ").next().unwrap_or_default().trim_end())
}

/// Numbers that only depend on a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// A sample without repetition, or with repetition if there are fewer tools.
fn sample<'a>(tools: &[&'a Tool], size: usize, dice: &mut Dice) -> Vec<&'a Tool> {
    let mut left = tools.to_vec();
    let mut drawn = Vec::new();
    while drawn.len() < size {
        if size > tools.len() {
            drawn.push(tools[dice.roll(tools.len())]);
        } else {
            drawn.push(left.swap_remove(dice.roll(left.len())));
        }
    }
    drawn
}

/// The mean of some figures, with the least and the highest.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        Self { mean, least, most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max) }
    }
}

/// The tokens of all forms, for one size of sample: counts, and reductions in percent.
pub(crate) struct Column {
    pub(crate) size: usize,
    pub(crate) is_resampled: bool,
    counts: Vec<Spread>,
    pub(crate) reductions: Vec<Spread>,
}

impl Column {
    /// The mean tokens of a form.
    pub(crate) fn count(&self, form: usize) -> f64 {
        self.counts[form].mean
    }
}

/// The places of forms in a column.
pub(crate) const REFERENCES: usize = 2;
pub(crate) const TEXT: usize = 4;
pub(crate) const CONTROL: usize = 5;
pub(crate) const NAMES: usize = 7;
pub(crate) const SEARCH: usize = 10;
pub(crate) const LAZY_SESSION: usize = 12;

/// Counts samples of some sizes.
pub(crate) fn columns(tokenizer: &Tokenizer, lists: &[List], sizes: &[usize]) -> Vec<Column> {
    let tools: Vec<&Tool> = lists.iter().flat_map(|list| &list.tools).collect();
    let column = |size: usize| {
        let mut dice = Dice(size as u64);
        let (mut counts, mut reductions) = (vec![Vec::new(); FORMS.len()], vec![Vec::new(); FORMS.len()]);
        let is_resampled = size > tools.len();
        for _ in 0..if is_resampled { RESAMPLES } else { SAMPLES } {
            let drawn = sample(&tools, size, &mut dice);
            let found: Vec<f64> = FORMS.iter().map(|(_, form)| tokenizer.count(&form(&drawn)) as f64).collect();
            for (at, count) in found.iter().enumerate() {
                counts[at].push(*count);
                reductions[at].push(100.0 * (count / found[0] - 1.0));
            }
        }
        let spreads = |values: Vec<Vec<f64>>| values.iter().map(|values| Spread::of(values)).collect();
        Column { size, is_resampled, counts: spreads(counts), reductions: spreads(reductions) }
    };
    sizes.iter().copied().map(column).collect()
}

/// The table of all forms and sizes.
pub(crate) fn table(columns: &[Column]) -> String {
    let mut text = String::from("| shown to the model |");
    for column in columns {
        let note = if column.is_resampled { " (resampled)" } else { "" };
        let _ = write!(text, " {}{note} |", column.size);
    }
    text.push_str(&format!("\n| --- |{}\n", " ---: |".repeat(columns.len())));
    for (at, (name, _)) in FORMS.iter().enumerate() {
        let _ = write!(text, "| {name} |");
        for column in columns {
            let (count, change) = (column.counts[at], column.reductions[at]);
            let _ = match at {
                0 => write!(text, " {:.0} |", count.mean),
                _ => write!(
                    text,
                    " {:.0} ({:+.1} %; {:+.0} to {:+.0}) |",
                    count.mean, change.mean, change.least, change.most
                ),
            };
        }
        text.push('\n');
    }
    text
}

/// The table of lists, with the tokens of each.
pub(crate) fn lists_table(tokenizer: &Tokenizer, lists: &[List]) -> String {
    let mut text = String::from(
        "| list | SHA-256 | tools | JSON, tokens | base64 with references | `name: description` | control |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for list in lists {
        let tools: Vec<&Tool> = list.tools.iter().collect();
        let count = |at: usize| tokenizer.count(&FORMS[at].1(&tools)) as f64;
        let change = |at: usize| 100.0 * (count(at) / count(0) - 1.0);
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {:.0} | {:+.1} % | {:+.1} % | {:+.1} % |",
            list.name,
            &list.digest[..16],
            tools.len(),
            count(0),
            change(REFERENCES),
            change(TEXT),
            change(CONTROL),
        );
    }
    text
}

/// The tokens of single tools as JSON: mean, median, least and most.
pub(crate) fn sizes(tokenizer: &Tokenizer, lists: &[List]) -> [f64; 4] {
    let tools = lists.iter().flat_map(|list| &list.tools);
    let mut counts: Vec<usize> = tools.map(|tool| tokenizer.count(&tool.json.to_string())).collect();
    counts.sort_unstable();
    let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    [mean, counts[counts.len() / 2] as f64, counts[0] as f64, counts[counts.len() - 1] as f64]
}
