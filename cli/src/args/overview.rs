//! The help of `pmcp` alone: one screen, for a person who has never used it.

/// The text. A test holds that it names every command.
pub(super) const OVERVIEW: &str = "\
usage: pmcp <command> [arguments]

Tools in any language, for any MCP host. To begin:

  pmcp init                            write a tool file, tools.py, and its test
  pmcp call tools.py greet name=Ann    call one of its tools
  pmcp dev tools.py                    serve them, and reload after each save

A host such as Claude or Cursor starts the last one itself, after:

  pmcp install tools.py

All commands:

  serve     dev, run, playground, mock
  use       list, call, read, prompt
  check     validate, test, doctor, record, replay, scenario
  hosts     install, uninstall, status, bundle
  others    init, schema, config, completions, version, help

pmcp help explains them and has more examples, pmcp help dev explains one.
";
