//! The size of reads, and the bytes that stay in the buffer.

use std::task::Waker;

use super::*;

/// Reads once from a stream of `there` bytes while the frame needs `bytes_needed` more, and returns the bytes read.
fn read(input: &mut Input, there: usize, bytes_needed: usize) -> usize {
    let stream = vec![7; there];
    let mut stream = &stream[..];
    match input.poll_read(&mut Context::from_waker(Waker::noop()), &mut stream, bytes_needed) {
        Poll::Ready(Ok(read)) => read,
        other => panic!("{other:?}"),
    }
}

#[test]
fn small_frames_are_read_together() {
    let mut input = Input::new();
    assert_eq!(read(&mut input, 1 << 20, 4), READ_SIZE);
    assert_eq!(input.bytes.len(), READ_SIZE);
}

#[test]
fn a_read_ends_where_a_large_frame_ends() {
    let mut input = Input::new();
    assert_eq!(read(&mut input, 100, 4), 100);
    // A large frame up to its last bytes, in any number of reads.
    let (large, last) = (READ_SIZE + 1, 3);
    let mut bytes_needed = large + last;
    while bytes_needed > last {
        bytes_needed -= read(&mut input, 1 << 20, bytes_needed.min(large));
    }
    assert_eq!(read(&mut input, 1 << 20, bytes_needed), bytes_needed);
    assert_eq!(input.bytes.len(), 100 + large + last);
}

#[test]
fn an_announced_size_makes_little_room_by_itself() {
    let mut input = Input::new();
    assert_eq!(input.reserve(1 << 30), READ_SIZE_MAX);
    assert!(input.bytes.capacity() <= 2 * READ_SIZE_MAX);
}

#[test]
fn a_large_frame_takes_its_buffer_along() {
    let mut input = Input::new();
    let frame = 10 << 20;
    let mut bytes_needed = frame;
    while bytes_needed > 0 {
        bytes_needed -= read(&mut input, 1 << 20, bytes_needed);
    }
    let taken = input.bytes.split().freeze();
    assert_eq!(taken.len(), frame);
    assert_eq!(input.reserve(4), READ_SIZE);
    assert_eq!(input.bytes.capacity(), READ_SIZE);
    assert!(taken.is_unique(), "the input still keeps the frame's buffer alive");
    // The next small frames are read together again.
    assert_eq!(read(&mut input, 1 << 20, 4), READ_SIZE);
}

#[test]
fn growing_for_a_large_frame_moves_it_only_a_few_times() {
    let mut input = Input::new();
    let mut bytes_needed: usize = 100 << 20;
    let mut capacities = vec![input.bytes.capacity()];
    while bytes_needed > 0 {
        // The capacity of a socket.
        let space = input.reserve(bytes_needed).min(200_000).min(input.bytes.capacity() - input.bytes.len());
        assert!(space > 0);
        input.bytes.put_bytes(0, space);
        bytes_needed -= space;
        if capacities.last() != Some(&input.bytes.capacity()) {
            capacities.push(input.bytes.capacity());
        }
    }
    assert!(capacities.len() <= 8, "{capacities:?}");
    assert!(input.bytes.capacity() <= 2 * (100 << 20) + READ_SIZE_MAX, "{capacities:?}");
}

#[test]
fn room_is_kept_as_long_as_half_of_it_is_left() {
    let mut input = Input::new();
    read(&mut input, READ_SIZE / 2, 4);
    assert_eq!(input.reserve(4), READ_SIZE);
    assert_eq!(input.bytes.capacity(), READ_SIZE, "half of it is left");
    read(&mut input, 1, 4);
    input.reserve(4);
    assert!(input.bytes.capacity() - input.bytes.len() >= READ_SIZE);
}

#[test]
fn the_same_room_serves_again_once_its_frames_have_left() {
    let mut input = Input::new();
    for _ in 0..100 {
        read(&mut input, 40_000, 4);
        bytes::Buf::advance(&mut input.bytes, 40_000);
    }
    assert!(input.bytes.capacity() <= READ_SIZE, "{}", input.bytes.capacity());
}
