//! Histories in which more messages wait for an absent client than a queue has places.

use super::*;

/// The client resumes, and reads what comes until nothing more does.
fn read_rest(world: &mut World, stream: StreamId) -> u64 {
    world.come_back(stream, world.last_read(stream));
    let at = world.connections.len().checked_sub(1).expect("the stream is resumed");
    while world.queued(stream) > 0 {
        world.take(at);
    }
    world.arrive(at, usize::MAX);
    world.last_read(stream)
}

#[test]
fn what_waits_takes_no_place_of_what_was_missed() {
    let mut world = World::new(MemoryStore::default(), MAX_QUEUED);
    world.post(1);
    for _ in 0..5 {
        world.report(1);
    }
    for _ in 0..=5 {
        world.take(0);
    }
    world.arrive(0, 2);
    let stream = world.connections[0].stream_ref.stream;
    assert_eq!((world.last_read(stream), world.queued(stream)), (2, 0), "three events are on their way");
    world.lose(0);
    for _ in 0..MAX_QUEUED {
        world.report(1);
    }
    world.answer(1);
    assert_eq!(read_rest(&mut world, stream), 5 + MAX_QUEUED as u64 + 1);
    world.settle();
    world.check(false);
}

#[test]
fn a_standalone_stream_goes_on_after_dropped_events() {
    let mut world = World::new(MemoryStore::default(), MAX_QUEUED);
    world.listen();
    for _ in 0..2 {
        world.happen();
        world.take(0);
    }
    world.arrive(0, 1);
    world.lose(0);
    let count = 3 * MAX_QUEUED as u64;
    for _ in 0..count {
        world.happen();
    }
    assert_eq!(world.streams.dropped(STANDALONE), 2 + count - MAX_QUEUED as u64);
    assert_eq!(read_rest(&mut world, STANDALONE), 2 + count);
    assert_eq!(world.promises[&STANDALONE].read.len(), 1 + MAX_QUEUED, "what waits is there");
    world.settle();
    world.check(true);
}
