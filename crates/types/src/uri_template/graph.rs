//! A template as an acyclic graph: literals, gaps, and forks for optional parts.
//!
//! Nodes are created from the end of the template to its start, so a node leads only to earlier nodes, and the table of
//! matches is filled in the same order.

use std::ops::Range;

use crate::uri_template::expand::{encoded_byte, literal};
use crate::uri_template::parse::{Modifier, Operator, Part, Variable};
use crate::uri_template::unit::prefix_len;

/// The graph of one template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    /// Where the template begins.
    start: Id,
}

type Id = usize;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    /// The end of the URI.
    End,
    Literal {
        text: Box<str>,
        next: Id,
    },
    Gap(Gap),
    /// The first if it can be, the second otherwise.
    Either(Id, Id),
}

/// The place of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Gap {
    /// Counted from the start of the template.
    variable: usize,
    /// Bytes it does not hold.
    without: &'static [u8],
    /// Characters it holds.
    least: usize,
    most: usize,
    next: Id,
}

const END: Id = 0;
/// The end of a segment (RFC 3986, 3.3).
const SEGMENT: &[u8] = b"/?#";

impl Gap {
    /// The value of `of`, which has this number.
    fn of(of: &Variable, variable: usize, without: &'static [u8], least: usize, next: Id) -> Node {
        let most = if let Modifier::Prefix(length) = of.modifier { length } else { usize::MAX };
        Node::Gap(Self { variable, without, least, most, next })
    }
}

impl Graph {
    pub(super) fn of(parts: &[Part]) -> Self {
        let mut graph = Self { nodes: vec![Node::End], start: END };
        let mut variable = parts.iter().flat_map(Part::names).count();
        let mut next = END;
        for part in parts.iter().rev() {
            next = match part {
                Part::Literal(text) => graph.text(text, next),
                Part::Expression { operator, variables } => {
                    variable -= variables.len();
                    match operator {
                        Operator::Simple | Operator::Reserved => graph.list(*operator, variables, variable, next),
                        Operator::Fragment => {
                            let list = graph.list(*operator, variables, variable, next);
                            let hash = graph.text(operator.first(), list);
                            graph.add(Node::Either(hash, next))
                        }
                        Operator::Label | Operator::Path => graph.chain(*operator, variables, variable, next),
                        Operator::Parameter | Operator::Query | Operator::Continuation => {
                            graph.named(*operator, variables, variable, next)
                        }
                    }
                }
            };
        }
        graph.start = next;
        graph
    }

    fn add(&mut self, node: Node) -> Id {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn text(&mut self, text: &str, next: Id) -> Id {
        self.add(Node::Literal { text: text.into(), next })
    }

    /// The first value has to be there; the others follow commas.
    fn list(&mut self, operator: Operator, variables: &[Variable], first: usize, after: Id) -> Id {
        let without = |of: &Variable| match (operator.keeps_reserved(), variables.len() > 1) {
            _ if of.modifier == Modifier::Explode && operator.keeps_reserved() => b"" as &[u8],
            _ if of.modifier == Modifier::Explode => SEGMENT,
            (true, true) => b",",
            (true, false) => b"",
            (false, true) => b"/?#,",
            (false, false) => SEGMENT,
        };
        let mut next = after;
        for (index, variable) in variables.iter().enumerate().rev() {
            let least = usize::from(operator != Operator::Fragment && index == 0);
            next = self.add(Gap::of(variable, first + index, without(variable), least, next));
            if index > 0 {
                next = self.text(operator.between(), next);
                next = self.add(Node::Either(next, after));
            }
        }
        next
    }

    /// Each value follows the operator's character. The first that is absent is followed by none.
    fn chain(&mut self, operator: Operator, variables: &[Variable], first: usize, after: Id) -> Id {
        let without = |of: &Variable| match operator {
            _ if of.modifier == Modifier::Explode => b"?#" as &[u8],
            Operator::Label if variables.len() > 1 => b"/?#.",
            _ => SEGMENT,
        };
        let mut next = after;
        for (index, variable) in variables.iter().enumerate().rev() {
            next = self.add(Gap::of(variable, first + index, without(variable), 0, next));
            next = self.text(operator.between(), next);
            next = self.add(Node::Either(next, after));
        }
        next
    }

    /// Each value follows its name, and may be absent. Only with `?` does the first that is present begin otherwise than
    /// the others.
    fn named(&mut self, operator: Operator, variables: &[Variable], first: usize, after: Id) -> Id {
        let (mut begin, mut go_on) = (after, after);
        for (index, variable) in variables.iter().enumerate().rev() {
            let value = self.value(operator, variable, first + index, go_on);
            let [first, between] = [operator.first(), operator.between()].map(|mark| match variable.modifier {
                Modifier::Explode => mark.to_owned(),
                Modifier::None | Modifier::Prefix(_) => format!("{mark}{}", literal(&variable.name)),
            });
            let present = self.text(&first, value);
            begin = self.add(Node::Either(present, begin));
            let present = self.text(&between, value);
            go_on = self.add(Node::Either(present, go_on));
        }
        begin
    }

    /// The text after the name: `=` and a value; after a parameter possibly nothing.
    fn value(&mut self, operator: Operator, of: &Variable, variable: usize, next: Id) -> Id {
        let parameter = operator == Operator::Parameter;
        if of.modifier == Modifier::Explode {
            // Its own names come with the values.
            return self.add(Gap::of(of, variable, if parameter { SEGMENT } else { b"#" }, 1, next));
        }
        let gap = self.add(Gap::of(of, variable, if parameter { b"/?#;" } else { b"&#" }, 0, next));
        let given = self.text("=", gap);
        if !parameter {
            return given;
        }
        let empty = self.add(Node::Gap(Gap { variable, without: b"", least: 0, most: 0, next }));
        self.add(Node::Either(given, empty))
    }

    /// Where the variables are in `uri`, if the template stands for it.
    pub(super) fn run(&self, uri: &str) -> Option<Vec<(usize, Range<usize>)>> {
        // Most URIs differ from most templates in the first letters.
        if let Node::Literal { text, .. } = &self.nodes[self.start]
            && prefix_len(text.as_bytes(), uri.as_bytes()).is_none()
        {
            return None;
        }
        let table = Table::fill(&self.nodes, uri);
        if !table.can(self.start, 0) {
            return None;
        }
        let (mut found, mut id, mut at) = (Vec::new(), self.start, 0);
        loop {
            match &self.nodes[id] {
                Node::End => return Some(found),
                Node::Literal { text, next } => {
                    at += prefix_len(text.as_bytes(), &uri.as_bytes()[at..])?;
                    id = *next;
                }
                Node::Either(first, second) => id = if table.can(*first, at) { *first } else { *second },
                Node::Gap(gap) => {
                    // An expression that can be there is there, even if the gap before it could hold it.
                    let present =
                        if let Node::Either(present, _) = &self.nodes[gap.next] { *present } else { gap.next };
                    let end = table.longest(at, gap, present).or_else(|| table.longest(at, gap, gap.next))?;
                    found.push((gap.variable, at..end));
                    (id, at) = (gap.next, end);
                }
            }
        }
    }
}

/// From which node and position the rest of the URI can be matched.
struct Table<'u> {
    uri: &'u [u8],
    /// Where a value may end: not inside a character, encoded or not. With the count of characters before.
    stops: Vec<(bool, usize)>,
    rows: Vec<bool>,
}

impl<'u> Table<'u> {
    fn fill(nodes: &[Node], uri: &'u str) -> Self {
        let width = uri.len() + 1;
        let mut table = Self { uri: uri.as_bytes(), stops: stops(uri), rows: vec![false; nodes.len() * width] };
        for (id, node) in nodes.iter().enumerate() {
            let row = id * width;
            match node {
                Node::End => table.rows[row + uri.len()] = true,
                Node::Literal { text, next } => {
                    for at in 0..width {
                        let length = prefix_len(text.as_bytes(), &table.uri[at..]);
                        table.rows[row + at] = length.is_some_and(|length| table.can(*next, at + length));
                    }
                }
                Node::Either(first, second) => {
                    for at in 0..width {
                        table.rows[row + at] = table.can(*first, at) || table.can(*second, at);
                    }
                }
                Node::Gap(Gap { without, least, most, next, .. }) => {
                    // The nearest place after `at` where the gap can end, if its bytes allow to get there.
                    let mut ahead = None;
                    for at in (0..width).rev() {
                        ahead = match table.uri.get(at) {
                            Some(byte) if without.contains(byte) => None,
                            Some(_) if table.ends(*next, at + 1) => Some(at + 1),
                            Some(_) => ahead,
                            None => None,
                        };
                        let empty = *least == 0 && table.ends(*next, at);
                        table.rows[row + at] = empty || ahead.is_some_and(|end| table.characters(at, end) <= *most);
                    }
                }
            }
        }
        table
    }

    fn can(&self, id: Id, at: usize) -> bool {
        self.rows[id * self.stops.len() + at]
    }

    /// True if a gap before this node can end here.
    fn ends(&self, next: Id, at: usize) -> bool {
        self.stops[at].0 && self.can(next, at)
    }

    fn characters(&self, start: usize, end: usize) -> usize {
        self.stops[end].1 - self.stops[start].1
    }

    /// The last place where a gap that begins at `at` can end before the node `next`.
    fn longest(&self, at: usize, gap: &Gap, next: Id) -> Option<usize> {
        let held = self.uri[at..].iter().take_while(|byte| !gap.without.contains(byte)).count();
        let fits = |end: &usize| self.characters(at, *end) <= gap.most && self.ends(next, *end);
        (at + gap.least..=at + held).rev().find(fits)
    }
}

fn stops(uri: &str) -> Vec<(bool, usize)> {
    let bytes = uri.as_bytes();
    // The remaining bytes of an encoded byte, at which a gap cannot end; and the expected ones of a character in UTF-8.
    let (mut inside, mut expected, mut count) = (0_u8, 0_u8, 0);
    let stop = |at: usize| {
        let before = count;
        let encoded = bytes.get(at..).and_then(encoded_byte);
        if inside > 0 {
            inside -= 1;
            return (false, before);
        }
        if encoded.is_some() {
            inside = 2;
        }
        let byte = encoded.or(bytes.get(at).copied());
        let goes_on = expected > 0 && matches!(byte, Some(0x80..=0xBF));
        expected = match byte {
            _ if goes_on => expected - 1,
            Some(0xC2..=0xDF) => 1,
            Some(0xE0..=0xEF) => 2,
            Some(0xF0..=0xF4) => 3,
            Some(_) | None => 0,
        };
        count += usize::from(!goes_on);
        (!goes_on, before)
    };
    (0..=uri.len()).map(stop).collect()
}
