//! The exponent of a curve.

use crate::measurement::number;

/// The slope of the line through the logarithms of the points, by least squares: a quantity that grows with the power
/// `e` of the size has the exponent `e`. `None` without two sizes above zero whose quantities are above zero.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = number(logs.len());
    let mean_x = logs.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = logs.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>();
    let common = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    (spread > 0.0).then(|| common / spread)
}

/// The exponent of the upper half of the points, in which constant costs matter least; at least of two. The points are
/// in the order of their sizes.
pub fn upper_exponent(points: &[(f64, f64)]) -> Option<f64> {
    let upper = points.len().div_ceil(2).max(2).min(points.len());
    exponent(&points[points.len() - upper..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(y: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        [1.0, 10.0, 100.0, 1_000.0].map(|x| (x, y(x))).to_vec()
    }

    #[test]
    fn powers_have_their_exponents() {
        for (power, factor) in [(0.0, 7.0), (0.5, 1.0), (1.0, 0.01), (2.0, 300.0)] {
            let found = exponent(&curve(|x| factor * x.powf(power))).unwrap();
            assert!((found - power).abs() < 1e-9, "{found} instead of {power}");
        }
    }

    #[test]
    fn constant_costs_matter_less_in_the_upper_half() {
        let points = curve(|x| 100.0 + x);
        let (whole, upper) = (exponent(&points).unwrap(), upper_exponent(&points).unwrap());
        assert!(whole < upper && upper < 1.0, "{whole} {upper}");
    }

    #[test]
    fn points_without_a_slope_have_no_exponent() {
        assert_eq!(exponent(&[]), None);
        assert_eq!(exponent(&[(10.0, 3.0)]), None);
        assert_eq!(exponent(&[(10.0, 3.0), (10.0, 4.0)]), None);
        assert_eq!(exponent(&[(10.0, 3.0), (100.0, 0.0)]), None);
        assert_eq!(upper_exponent(&[]), None);
    }
}
