// Finds the dominant colours of a picture: k-means over its pixels, begun at its most common colours.

const COLOURS = 5
const ROUNDS = 8
const APART = 48 // how far apart two first guesses must be, in steps of 256

export const ganger = {
  functions: { palette: { summary: 'The dominant colours of a picture, most common first' } },
}

/** RGB pixels in, up to five colours such as '#a0522d' out. */
export function palette({ pixels }) {
  let centres = firstGuesses(pixels)
  for (let round = 0; round < ROUNDS; round++) centres = recentre(pixels, centres)
  return centres.sort((a, b) => b.count - a.count).map(({ rgb }) => hex(rgb))
}

function firstGuesses(pixels) {
  const counts = new Map()
  for (let i = 0; i < pixels.length; i += 3) {
    const key = ((pixels[i] >> 4) << 8) | ((pixels[i + 1] >> 4) << 4) | (pixels[i + 2] >> 4)
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const guesses = []
  for (const [key] of [...counts].sort((a, b) => b[1] - a[1])) {
    const rgb = [(key >> 8) * 16 + 8, ((key >> 4) & 15) * 16 + 8, (key & 15) * 16 + 8]
    if (guesses.every((other) => distance(rgb, other.rgb) > APART ** 2)) guesses.push({ rgb, count: 0 })
    if (guesses.length === COLOURS) break
  }
  return guesses
}

function recentre(pixels, centres) {
  const sums = centres.map(() => [0, 0, 0, 0])
  const pixel = [0, 0, 0]
  for (let i = 0; i < pixels.length; i += 3) {
    for (let c = 0; c < 3; c++) pixel[c] = pixels[i + c]
    const sum = sums[nearest(pixel, centres)]
    for (let c = 0; c < 3; c++) sum[c] += pixel[c]
    sum[3]++
  }
  return sums.map(([r, g, b, count], i) =>
    count ? { rgb: [r / count, g / count, b / count], count } : { ...centres[i], count },
  )
}

function nearest(pixel, centres) {
  let [best, least] = [0, Infinity]
  for (let i = 0; i < centres.length; i++) {
    const d = distance(pixel, centres[i].rgb)
    if (d < least) [best, least] = [i, d]
  }
  return best
}

const distance = (a, b) => (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2
const hex = (rgb) => `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`
