//! The cost of the tool list with 10,000 tools: registration, one change and one lookup.

use divan::{Bencher, black_box};
use protomcp_toollist::{Command, ToolList};
use protomcp_types::ToolName;

const TOOLS: usize = 10_000;

fn main() {
    divan::main();
}

fn names() -> Vec<(ToolName, u32)> {
    (0..TOOLS).map(|n| (name(n), 0)).collect()
}

fn name(n: usize) -> ToolName {
    ToolName::new(format!("group_{}.tool_{n}", n % 100)).expect("it is not empty")
}

fn full() -> ToolList<ToolName, u32> {
    let mut list = ToolList::new();
    list.register(names());
    list
}

#[divan::bench]
fn register_all(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(names).bench_local_values(|names| {
        let mut list = ToolList::new();
        black_box(list.register(names));
        list
    });
}

#[divan::bench]
fn register_the_same_again(bencher: Bencher<'_, '_>) {
    let mut list = full();
    bencher.with_inputs(names).bench_local_values(|names| black_box(list.register(names)));
}

#[divan::bench(sample_size = 1_000)]
fn hide_and_show_one(bencher: Bencher<'_, '_>) {
    let mut list = full();
    let one = vec![name(5_000)];
    let (hide, show) = (Command::disable(one.clone()), Command::enable(one));
    bencher.bench_local(|| {
        black_box(list.apply(&hide).expect("it is a fair command"));
        black_box(list.apply(&show).expect("it is a fair command"));
    });
}

#[divan::bench]
fn change_the_mode(bencher: Bencher<'_, '_>) {
    let mut list = full();
    let half: Vec<ToolName> = (0..TOOLS).step_by(2).map(name).collect();
    let (allow, open) = (Command::set_allowed(half), Command::set_allowed(Vec::new()));
    bencher.bench_local(|| {
        black_box(list.apply(&allow).expect("it is a fair command"));
        black_box(list.apply(&open).expect("it is a fair command"));
    });
}

#[divan::bench(sample_size = 1_000)]
fn look_one_up(bencher: Bencher<'_, '_>) {
    let list = full();
    let wanted = name(7_777);
    bencher.bench_local(|| black_box(list.get(black_box(&wanted))).is_some());
}

#[divan::bench]
fn walk_all(bencher: Bencher<'_, '_>) {
    let list = full();
    bencher.bench_local(|| list.active().map(|(name, _)| name.as_str().len()).sum::<usize>());
}
