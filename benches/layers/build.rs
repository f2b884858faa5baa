//! Generates the messages of the comparison in `framing` from the unmodified proto file with prost.

#[cfg(feature = "framing")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=../../proto/protomcp.proto");
    let files = protox::compile(["../../proto/protomcp.proto"], ["../../proto"])?;
    prost_build::Config::new().compile_fds(files)?;
    Ok(())
}

#[cfg(not(feature = "framing"))]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
