/**
 * Vitest reporter: after everything else, one plain line for people and scripts to read,
 *
 *     N passed, N failed, N skipped
 *
 * Type tests count as tests. A file that could not be loaded, and an error outside any test, count
 * as one failure each.
 *
 * @implements {import('vitest/reporters').Reporter}
 */
class SummaryReporter {
  #line = ''
  #watch = false

  onInit(vitest) {
    this.#watch = vitest.config.watch
    // On exit, because coverage and the default reporter still print after the run has ended.
    if (!this.#watch) process.once('exit', () => this.#print())
  }

  onTestRunEnd(testModules, unhandledErrors) {
    let passed = 0
    let failed = unhandledErrors.length
    let skipped = 0
    for (const module of testModules) {
      let failedHere = 0
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed++
        else if (state === 'skipped') skipped++
        else failedHere++ // 'failed', or 'pending': the run was cut short
      }
      if (failedHere === 0 && module.state() === 'failed') failedHere = 1
      failed += failedHere
    }
    this.#line = `${passed} passed, ${failed} failed, ${skipped} skipped`
    if (this.#watch) this.#print()
  }

  #print() {
    if (this.#line !== '') process.stdout.write(`${this.#line}\n`)
  }
}

export default SummaryReporter
