import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import type { Store } from 'ipam-kit/store'
import { openStore } from '../../../docs/examples/open-store.js'
import { admitExample, exampleNamed } from '../account.js'
import { bundle } from '../bundle.js'
import type { Depth, Part, Report } from '../report.js'
import { importClient, installSqlite } from '../servers/install.js'
import { Gate } from '../whereabouts/gate.js'
import { commands } from './commands.js'
import { controllers, guides, manifests } from './controllers.js'
import { DaemonProcess } from './daemon-process.js'
import {
  ageBlockRows,
  awayIn,
  type Ground,
  ipamOf,
  ipamOfFile,
  loseBlockRow,
  loseObject,
  plainKubeconfig,
  rowsOfBlocks,
  rowsOfObjects,
  startCniGround,
} from './ground.js'
import { killed } from './killed.js'
import { many } from './many.js'
import { CALL, requests } from './requests.js'
import { addressesIn, callPlugin, type Subject } from './runtime.js'
import { singleExecutables } from './single.js'
import { upgradeUnderLoad } from './upgrade.js'

const LOCAL_KINDS = [IPPool, OverlappingRangeIPReservation].map(({ info }) => info)

const PLUGIN = exampleNamed('cni-plugin', 'ipam-kit-cni')

/** The example plugin as separate processes, called as a runtime calls them. */
export const cniPart: Part = {
  name: 'cni',
  about: 'processes of the example plugin answer a runtime, on objects of whereabouts, on blocks and on a file',
  async run(report, depth) {
    await installSqlite()
    const program = await bundle(PLUGIN.main, 'cni-plugin', { isPlugin: true })
    const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-cni-'))
    const all = async (subject: Subject) => {
      await commands(report, subject, folder)
      await many(report, subject, folder, depth)
    }
    try {
      await onFile(program, folder, all)
      const ground = await startCniGround()
      try {
        if (depth === 'full') await guides(report, ground)
        await manifests(report, ground)
        await controllers(report, ground)
        const kubeconfig = await admitExample(ground.server, PLUGIN)
        const subjects = thin(ground, { program, kubeconfig, folder })
        for (const subject of subjects) await all(subject)
        await singleExecutables(report, { subject: subjects[1] as Subject, folder }, depth)
        await upgradeUnderLoad(report, { ground, thin: subjects[0] as Subject, kubeconfig, folder }, depth)
        await thick(report, { ground, program, folder, subjects, all }, depth)
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

interface Thick {
  readonly ground: Ground
  readonly program: string
  readonly folder: string
  /** Processes that ask the API server themselves. */
  readonly subjects: readonly Subject[]
  readonly all: (subject: Subject) => Promise<void>
}

/** What a daemon says while it watches the server of which STATUS is asked. */
const AWAY = 'connect ECONNREFUSED 127.0.0.1:1"'

/** Processes that pass each call on to a daemon. */
async function thick(report: Report, { ground, program, folder, subjects, all }: Thick, depth: Depth): Promise<void> {
  const socket = join(folder, 'run', 'socket')
  const record = join(folder, 'record of the daemon')
  const daemon = new DaemonProcess(program, ['--daemon', socket, '--record', record])
  const passing = (subject: Subject, ...more: readonly string[]): Subject => {
    const name = subject.name.replace('thin', more.length === 0 ? 'thick' : 'thick or thin')
    return { ...subject, name, record, command: [process.execPath, program, '--socket', socket, ...more] }
  }
  await daemon.start()
  const gate = await Gate.open(ground.server)
  try {
    for (const subject of subjects) await all(passing(subject))
    const [, onBlocks] = subjects as [Subject, Subject]
    await killed(report, { subject: passing(onBlocks), daemon, folder }, depth)
    const counted = { ...onBlocks, ipam: ipamOf('ipam-kit', plainKubeconfig(folder, gate.urlFor(CALL))) }
    await requests(report, { thin: counted, thick: passing(counted), gate, folder })
    await report.test('without the daemon, a call falls back to thin if the flag says so', async () => {
      await daemon.stop()
      const own = { container: 'f1' }
      const { exit, json } = await callPlugin(passing(onBlocks), folder, 'ADD', own)
      const { code, msg } = json as { readonly code: number; readonly msg: string }
      assert.deepEqual([exit, code, msg], [1, 11, `the daemon cannot be reached: ${socket} does not exist`])
      const fallback = passing(onBlocks, '--fallback', 'thin')
      addressesIn(await callPlugin(fallback, folder, 'ADD', own))
      const del = await callPlugin(fallback, folder, 'DEL', own)
      assert.deepEqual([del.exit, await onBlocks.rows()], [0, []])
      await daemon.start()
      return undefined
    })
    await report.test('the daemon ends with status 0, and has reported only the server that is away', async () => {
      await daemon.stop()
      const others = daemon.problems.split('\n').filter((line) => line !== '' && !line.includes(AWAY))
      assert.deepEqual(others, [])
      return undefined
    })
  } finally {
    gate.close()
    await daemon.kill()
  }
}

/** A process that asks the API server itself, with the rights of its manifest and no others. */
function thin(
  { store }: Ground,
  { program, kubeconfig, folder }: { readonly program: string; readonly kubeconfig: string; readonly folder: string },
): readonly Subject[] {
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
      age: () => ageBlockRows(store),
    },
  ]
}
