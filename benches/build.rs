//! Generates the peer's messages: what prost makes of the proto file as it stands, without this project's changes.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=../proto/protomcp.proto");
    let files = protox::compile(["../proto/protomcp.proto"], ["../proto"])?;
    prost_build::Config::new().compile_fds(files)?;
    Ok(())
}
