import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { admitExample, exampleNamed } from '../account.js'
import { bundle } from '../bundle.js'
import type { Part } from '../report.js'
import { installClients } from '../servers/install.js'
import { commands } from './commands.js'
import {
  awayIn,
  type Ground,
  ipamOf,
  loseBlockRow,
  loseObject,
  rowsOfBlocks,
  rowsOfObjects,
  startCniGround,
} from './ground.js'
import { many } from './many.js'
import type { Subject } from './runtime.js'

/** GC leaves rows that are younger. */
const YOUNGEST_MS = 60_000

const PLUGIN = exampleNamed('cni-plugin', 'ipam-kit-cni')

/** The example plugin as separate processes, called as a runtime calls them. */
export const cniPart: Part = {
  name: 'cni',
  waits: true,
  about: 'processes of the example plugin answer a runtime, on objects of whereabouts and on blocks',
  async run(report, depth) {
    await installClients()
    const program = await bundle(PLUGIN.main, 'cni-plugin', { minify: true })
    const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-cni-'))
    const ground = await startCniGround()
    try {
      for (const subject of await thin(ground, program, folder)) {
        await commands(report, subject, folder)
        await many(report, subject, folder, depth)
      }
    } finally {
      await ground.stop()
      rmSync(folder, { recursive: true })
    }
  },
}

/** A process that asks the API server itself, with the rights of its manifest and no others. */
async function thin({ server, admin }: Ground, program: string, folder: string): Promise<readonly Subject[]> {
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
      rows: () => rowsOfObjects(admin),
      lose: (container) => loseObject(admin, container),
      age: async () => {},
    },
    {
      ...subject('thin on blocks'),
      ipam: ipamOf('ipam-kit', kubeconfig),
      rows: () => rowsOfBlocks(admin),
      lose: (container) => loseBlockRow(admin, container),
      // a row has the time of its ADD, and GC leaves what is younger
      age: () => sleep(YOUNGEST_MS + 1000),
    },
  ]
}
