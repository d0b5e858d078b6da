//! The difference hash of a picture: pictures that look alike differ in few of its 64 bits.

const COLUMNS: usize = 9;
const ROWS: usize = 8;

/// Shrinks RGB pixels to 9 × 8 greys and notes for each neighbouring pair which one is brighter.
pub(crate) fn dhash(pixels: &[u8], width: usize, height: usize) -> u64 {
    let grey = |column, row| brightness(pixels, width, span(column, COLUMNS, width), span(row, ROWS, height));
    let mut hash = 0;
    for row in 0..ROWS {
        for column in 0..COLUMNS - 1 {
            hash = hash << 1 | u64::from(grey(column, row) < grey(column + 1, row));
        }
    }
    hash
}

/// The pixels that cell `index` of `cells` covers, at least one.
fn span(index: usize, cells: usize, length: usize) -> std::ops::Range<usize> {
    let start = (index * length / cells).min(length - 1);
    start..((index + 1) * length / cells).max(start + 1)
}

fn brightness(
    pixels: &[u8],
    width: usize,
    columns: std::ops::Range<usize>,
    rows: std::ops::Range<usize>,
) -> u64 {
    let cells = (columns.len() * rows.len()) as u64;
    let sum: u64 = rows
        .flat_map(|row| columns.clone().map(move |column| 3 * (row * width + column)))
        .map(|at| luma(pixels[at], pixels[at + 1], pixels[at + 2]))
        .sum();
    sum / cells
}

fn luma(red: u8, green: u8, blue: u8) -> u64 {
    299 * u64::from(red) + 587 * u64::from(green) + 114 * u64::from(blue)
}

#[cfg(test)]
mod tests {
    use super::dhash;

    fn ramp(width: usize, height: usize) -> Vec<u8> {
        (0..width * height).flat_map(|at| [(at % width * 255 / width) as u8; 3]).collect()
    }

    #[test]
    fn brighter_to_the_right_is_all_ones_at_any_size() {
        assert_eq!(dhash(&ramp(90, 40), 90, 40), u64::MAX);
        assert_eq!(dhash(&ramp(220, 31), 220, 31), u64::MAX);
    }

    #[test]
    fn a_plain_picture_is_all_zeros_however_small() {
        assert_eq!(dhash(&[7; 3], 1, 1), 0);
        assert_eq!(dhash(&[7; 3 * 64 * 48], 64, 48), 0);
    }
}
