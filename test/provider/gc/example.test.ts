import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format } from 'node:util'
import { expect, test, vi } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))

test('docs/guides/garbage-collection.md shows what its example prints', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  await import(/* @vite-ignore */ `${root}docs/examples/collect-garbage.ts`)
  const printed = log.mock.calls.map((call) => format(...call)).join('\n')
  log.mockRestore()
  const guide = readFileSync(`${root}docs/guides/garbage-collection.md`, 'utf8')
  const blocks = [...guide.matchAll(/^```text\n([\s\S]*?)^```$/gm)].map(([, text]) => text!.trimEnd())
  expect(blocks).toEqual([printed])
})
