import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { admitExample, exampleNamed } from '../account.js'
import { bundle } from '../bundle.js'
import type { Part } from '../report.js'
import { installClients } from '../servers/install.js'
import { Runtime } from './calls.js'
import { Gate } from './gate.js'
import { NAMESPACE, startGround } from './ground.js'
import { manyPods } from './many-pods.js'
import { largePool } from './sweeps.js'
import { replays } from './traces.js'
import { writers } from './writers.js'

const PLUGIN = fileURLToPath(new URL('../../../docs/examples/cni-plugin/main.ts', import.meta.url))
const READER = fileURLToPath(new URL('sweep-reader.ts', import.meta.url))
const CONTROLLERS = exampleNamed('whereabouts-controller', 'ipam-kit-whereabouts')

/** The plugin and the controllers of docs/examples, as separate processes on a real API server. */
export const whereaboutsPart: Part = {
  name: 'whereabouts',
  about:
    'processes of the example plugin give addresses at once, and die: none is given twice, and DEL and sweep leave nothing',
  async run(report, depth) {
    await installClients()
    const plugin = await bundle(PLUGIN, 'whereabouts', { isPlugin: true })
    const program = await bundle(CONTROLLERS.main, 'whereabouts-controller')
    const reader = await bundle(READER, 'whereabouts-reader')
    await onOwnGround(async ({ server, admin }) => {
      const gate = await Gate.open(server)
      const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-whereabouts-'))
      try {
        const runtime = new Runtime({ program: plugin, gate, folder, namespace: NAMESPACE })
        await writers(report, { admin, gate, runtime }, depth)
        const controllers = { program, kubeconfig: await admitExample(server, CONTROLLERS) }
        await largePool(report, { admin, runtime, controllers }, depth)
        await manyPods(report, { server, admin, controllers, reader }, depth)
      } finally {
        gate.close()
        rmSync(folder, { recursive: true })
      }
    })
    // the recordings were made where nothing else was
    await onOwnGround(async ({ server }) => {
      await replays(report, { server, plugin, controllers: program, example: CONTROLLERS }, depth)
    })
  },
}

async function onOwnGround(action: (ground: Awaited<ReturnType<typeof startGround>>) => Promise<void>): Promise<void> {
  const ground = await startGround()
  try {
    await action(ground)
  } finally {
    ground.admin.close()
    await ground.server.stop()
  }
}
