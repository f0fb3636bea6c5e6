import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore } from 'ipam-kit/store/memory'
import { conformanceKinds, storeConformance } from 'ipam-kit/testing'
import { afterAll, describe, it } from 'vitest'
import { fileStore } from '../../docs/examples/file-store.js'

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

describe('memory', () => {
  const store = memoryStore({ now: Date.now, kinds: conformanceKinds })
  for (const { name, run } of storeConformance({ open: () => store, sleep })) it(name, run)
})

describe('a file (docs/examples/file-store.ts)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-'))
  const { store, close } = fileStore(join(folder, 'store.jsonl'), {
    now: Date.now,
    uid: randomUUID,
    kinds: conformanceKinds,
  })
  afterAll(() => {
    close()
    rmSync(folder, { recursive: true })
  })
  for (const { name, run } of storeConformance({ open: () => store, sleep })) it(name, run)
})
