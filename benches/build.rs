//! Generates the messages of the comparison from the unmodified proto file with prost.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=../proto/protomcp.proto");
    let files = protox::compile(["../proto/protomcp.proto"], ["../proto"])?;
    prost_build::Config::new().compile_fds(files)?;
    Ok(())
}
