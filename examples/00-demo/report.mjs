// What the Node app shows: a progress line, what happened to workers, and a closing table.

const LANGUAGES = { python: 'Python', node: 'Node', rust: 'Rust' }

export class Report {
  #pools
  #title
  #calls
  #timer
  #began = performance.now()
  #dead = []
  #quarter = 0

  /** Watches `pools`, named by language, until `calls` calls are done. */
  constructor(pools, { title, calls }) {
    this.#pools = pools
    this.#title = title
    this.#calls = calls
    for (const [language, pool] of Object.entries(pools)) {
      pool.on('worker:exit', (exit) => this.#died(language, exit))
      pool.on('call:retry', ({ fn, pid }) => this.#say(`${fn} was on worker ${pid} and runs again`))
    }
  }

  start() {
    console.log(`${this.#title}: ${this.#calls} calls to workers in three languages`)
    this.#timer = setInterval(() => this.#draw(), 40)
  }

  /** Ends the progress line and prints what each worker did. */
  finish() {
    clearInterval(this.#timer)
    this.#draw()
    if (process.stdout.isTTY) process.stdout.write('\n')
    const stats = Object.values(this.#pools).map((pool) => pool.stats())
    const sum = (field) => stats.reduce((total, each) => total + each[field], 0)
    printTable(this.#rows())
    console.log(
      `  ${sum('completed')} calls completed, ${sum('failed')} failed, ${sum('retried')} ran again after ` +
        `${sum('crashed')} worker was killed, in ${((performance.now() - this.#began) / 1000).toFixed(1)} s\n`,
    )
  }

  #rows() {
    const rows = [['language', 'pool', 'worker', 'calls', 'memory', 'pool p50']]
    for (const [language, pool] of Object.entries(this.#pools)) {
      const { details, run } = pool.stats()
      const dead = this.#dead.filter((worker) => worker.language === language)
      for (const { pid, calls, memory } of [...dead, ...details]) {
        const size = typeof memory === 'number' ? `${Math.round(memory / 1e6)} MB` : (memory ?? '–')
        rows.push([LANGUAGES[language], pool.stats().pool, `pid ${pid}`, calls, size, `${run.p50.toFixed(1)} ms`])
      }
    }
    return rows
  }

  #died(language, { pid, signal, calls, reason }) {
    if (reason === 'shutdown') return
    this.#dead.push({ language, pid, calls, memory: 'killed' })
    this.#say(`${LANGUAGES[language]} worker ${pid} was killed by ${signal}; another one starts`)
  }

  #draw() {
    const stats = Object.values(this.#pools).map((pool) => pool.stats())
    const done = stats.reduce((total, { completed }) => total + completed, 0)
    const parts = stats.map(({ pool, completed }) => `${completed} ${pool}`).join(', ')
    const counts = `${String(done).padStart(3)} of ${this.#calls} calls: ${parts}`
    if (process.stdout.isTTY) {
      const filled = Math.round((24 * done) / this.#calls)
      process.stdout.write(`\r\x1b[K  ${'█'.repeat(filled)}${'░'.repeat(24 - filled)} ${counts}`)
    } else if (Math.floor((4 * done) / this.#calls) > this.#quarter) {
      this.#quarter = Math.floor((4 * done) / this.#calls)
      console.log(`  ${counts}`)
    }
  }

  #say(text) {
    console.log(process.stdout.isTTY ? `\r\x1b[K  ${text}` : `  ${text}`)
  }
}

function printTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)))
  const line = (row) =>
    row.map((cell, i) => (i < 3 ? `${cell}`.padEnd(widths[i]) : `${cell}`.padStart(widths[i]))).join('   ')
  console.log(`\n  ${rows.map(line).join('\n  ')}\n`)
}
