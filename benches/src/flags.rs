//! The flags of the programs.

/// The values of these flags on the command line, `--rounds 5` for example, or their defaults.
///
/// # Errors
///
/// For another word, or a flag without a number: the text names the flags.
pub fn flags<const N: usize>(mut defaults: [(&str, usize); N]) -> Result<[usize; N], String> {
    let usage = defaults.map(|(name, value)| format!("[{name} N ({value})]")).join(" ");
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let flag = defaults.iter_mut().find(|(name, _)| *name == word);
        let number = words.next().and_then(|number| number.parse().ok());
        let (Some((_, value)), Some(number)) = (flag, number) else {
            return Err(format!("flags: {usage}"));
        };
        *value = number;
    }
    Ok(defaults.map(|(_, value)| value))
}
