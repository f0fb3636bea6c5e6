import type { Progress } from 'ipam-kit/run'

export interface ProgressLine {
  /**
   * Takes the place of the text before. Called often: `text` is only asked for when the line is
   * written.
   */
  show(text: () => string): void
  /** Removes the line. */
  clear(): void
}

/** Work that is over in this time shows nothing. */
const QUIET_MS = 300
const INTERVAL_MS = 200

/**
 * One line that is written over and over, a few times a second, once the work takes long enough to
 * wonder about.
 */
export function progressLine(write: (text: string) => void): ProgressLine {
  let nextMs = performance.now() + QUIET_MS
  let width = 0
  return {
    show(text) {
      const nowMs = performance.now()
      if (nowMs < nextMs) return
      nextMs = nowMs + INTERVAL_MS
      const line = text()
      write(`\r${line.padEnd(width)}`)
      width = line.length
    },
    clear() {
      if (width > 0) write(`\r${' '.repeat(width)}\r`)
      width = 0
      nextMs = performance.now() + QUIET_MS
    },
  }
}

export const noProgress: ProgressLine = { show() {}, clear() {} }

export function formatProgress({ planned, written, waiting }: Progress): string {
  return `${planned} planned, ${written} written, ${waiting} waiting`
}
