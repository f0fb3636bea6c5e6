import assert from 'node:assert/strict'
import type { Part, Report } from '../report.js'
import { installClients } from '../servers/install.js'
import { Audit } from './audit.js'
import { BLOCKS, startGround } from './ground.js'
import { guide } from './guide.js'
import { Hypervisor } from './hypervisor.js'
import { lives } from './life.js'
import { type Mode, Programs } from './programs.js'
import { rowsBeside } from './rows.js'
import { statefulSets } from './stateful-sets.js'
import { traps } from './traps.js'
import { until, type World } from './world.js'

const SIZES = { full: { machines: 200, onBlocks: 60 }, short: { machines: 20, onBlocks: 6 } }

/** The programs of docs/examples/persistent-ip, with a player of KubeVirt, on an API server. */
export const persistentPart: Part = {
  name: 'persistent',
  about:
    'programs of the example keep the addresses of virtual machines and StatefulSets while they are killed: none is given twice',
  async run(report, depth) {
    await installClients()
    const ground = await startGround()
    const [audit, hypervisor] = [new Audit(ground.admin), new Hypervisor(ground.admin)]
    const { machines, onBlocks } = SIZES[depth]
    try {
      if (depth === 'full') await guide(report, ground)
      for (const watcher of [audit, hypervisor]) await watcher.start()
      const parts = { ...ground, audit, hypervisor }
      await withPrograms(report, parts, 'objects', async (world) => {
        await lives(report, world, machines)
        await statefulSets(report, world, depth)
        await traps(report, world)
        await rowsBeside(report, world)
      })
      console.log('  on blocks, with two copies of the program that gives addresses:')
      await withPrograms(report, parts, 'blocks', async (world) => {
        await lives(report, world, onBlocks)
        await report.test('no block is left', async () => {
          const left = async () => (await world.admin.list(BLOCKS)).length
          await until(world, 'blocks stay', async () => (await left()) === 0 || undefined)
          return undefined
        })
      })
    } finally {
      for (const watcher of [audit, hypervisor]) watcher.stop()
      await ground.stop()
    }
  },
}

async function withPrograms(
  report: Report,
  parts: Omit<World, 'programs'>,
  mode: Mode,
  action: (world: World) => Promise<void>,
): Promise<void> {
  const programs = await Programs.start(parts, mode)
  try {
    await action({ ...parts, programs })
    await report.test('the programs end in order, and none has ended by itself', async () => {
      await programs.end()
      assert.deepEqual(parts.hypervisor.problems, [])
      return `${programs.kills} kills, ${parts.audit.changes} changes of claims and Pods were looked at`
    })
  } finally {
    await programs.close()
  }
}
