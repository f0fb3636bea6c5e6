const cleanups = new Set<() => void>()
let watching = false

/**
 * Has `cleanup` called when this process ends, however that happens short of SIGKILL.
 *
 * @returns calls it now, and not again
 */
export function atExit(cleanup: () => void): () => void {
  if (!watching) watchForTheEnd()
  cleanups.add(cleanup)
  return () => {
    if (cleanups.delete(cleanup)) cleanup()
  }
}

function watchForTheEnd(): void {
  watching = true
  process.on('exit', () => {
    for (const cleanup of cleanups) {
      try {
        cleanup()
      } catch {
        // the others still have to be called
      }
    }
  })
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.once(signal, () => process.exit(code))
  }
}
