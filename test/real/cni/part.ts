import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import type { Store } from 'ipam-kit/store'
import { openStore } from '../../../docs/examples/open-store.js'
import { admitExample, exampleNamed } from '../account.js'
import { bundle } from '../bundle.js'
import type { Part } from '../report.js'
import { importClient, installSqlite } from '../servers/install.js'
import { commands } from './commands.js'
import {
  awayIn,
  type Ground,
  ipamOf,
  ipamOfFile,
  loseBlockRow,
  loseObject,
  rowsOfBlocks,
  rowsOfObjects,
  startCniGround,
} from './ground.js'
import { many } from './many.js'
import type { Subject } from './runtime.js'

const LOCAL_KINDS = [IPPool, OverlappingRangeIPReservation].map(({ info }) => info)

/** GC leaves rows that are younger. */
const YOUNGEST_MS = 60_000

const PLUGIN = exampleNamed('cni-plugin', 'ipam-kit-cni')

/** The example plugin as separate processes, called as a runtime calls them. */
export const cniPart: Part = {
  name: 'cni',
  waits: true,
  about: 'processes of the example plugin answer a runtime, on objects of whereabouts, on blocks and on a file',
  async run(report, depth) {
    await installSqlite()
    const program = await bundle(PLUGIN.main, 'cni-plugin', { minify: true })
    const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-cni-'))
    const all = async (subject: Subject) => {
      await commands(report, subject, folder)
      await many(report, subject, folder, depth)
    }
    try {
      await onFile(program, folder, all)
      const ground = await startCniGround()
      try {
        for (const subject of await thin(ground, program, folder)) await all(subject)
      } finally {
        await ground.stop()
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}

/** A process that opens a file: there is no cluster. */
async function onFile(program: string, folder: string, use: (subject: Subject) => Promise<void>): Promise<void> {
  const [record, place] = [join(folder, 'record of a file'), join(folder, 'data', 'ipam.db')]
  const command = [process.execPath, program, '--record', record] as const
  const reading = async <T>(action: (store: Store) => Promise<T>) => {
    const { store, close } = await openStore({ engine: 'sqlite', place }, { kinds: LOCAL_KINDS, load: importClient })
    return action(store).finally(close)
  }
  await use({
    name: 'a file',
    isLocal: true,
    command,
    record,
    ipam: ipamOfFile(place),
    rows: () => reading(rowsOfObjects),
    lose: (container) => reading((store) => loseObject(store, container)),
    age: async () => {},
    // a file is not a folder
    away: { sqlite: join(process.execPath, 'ipam.db') },
  })
}

/** A process that asks the API server itself, with the rights of its manifest and no others. */
async function thin({ server, store }: Ground, program: string, folder: string): Promise<readonly Subject[]> {
  const kubeconfig = await admitExample(server, PLUGIN)
  const away = awayIn(folder)
  const subject = (name: string) => {
    const record = join(folder, `record of ${name}`)
    return { name, record, away, command: [process.execPath, program, '--record', record] as const }
  }
  return [
    {
      ...subject('thin on objects of whereabouts'),
      ipam: ipamOf('whereabouts', kubeconfig),
      rows: () => rowsOfObjects(store),
      lose: (container) => loseObject(store, container),
      age: async () => {},
    },
    {
      ...subject('thin on blocks'),
      ipam: ipamOf('ipam-kit', kubeconfig),
      rows: () => rowsOfBlocks(store),
      lose: (container) => loseBlockRow(store, container),
      // a row has the time of its ADD, and GC leaves what is younger
      age: () => sleep(YOUNGEST_MS + 1000),
    },
  ]
}
