//! Parses and writes JSON-RPC lines: one scan that keeps arguments as text, in comparison with a tree of
//! `serde_json::Value`s.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use protomcp_layers::json::{Shape, call_line, content, parse, write};
use serde_json::Value;

const SHAPES: [Shape; 3] = [Shape::Small, Shape::Structured, Shape::OneString];

fn main() {
    divan::main();
}

#[divan::bench(args = SHAPES, sample_size = 50)]
fn parse_call(bencher: Bencher<'_, '_>, shape: Shape) {
    let line = call_line(shape);
    bencher.counter(BytesCount::new(line.len())).bench_local(|| black_box(parse(black_box(&line))));
}

#[divan::bench(args = SHAPES, sample_size = 50)]
fn parse_call_peer(bencher: Bencher<'_, '_>, shape: Shape) {
    let line = call_line(shape);
    bencher
        .counter(BytesCount::new(line.len()))
        .bench_local(|| serde_json::from_slice::<Value>(black_box(&line)).expect("the line is JSON"));
}

#[divan::bench(args = [200, 64 * 1024], sample_size = 200)]
fn write_result(bencher: Bencher<'_, '_>, size: usize) {
    let content = content(size);
    let mut out = Vec::with_capacity(size + 128);
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        out.clear();
        write(black_box(&content), &mut out);
        black_box(out.len())
    });
}
