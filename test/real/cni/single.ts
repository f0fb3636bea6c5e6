import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Depth, Report } from '../report.js'
import { run } from '../servers/tools.js'
import { addressesIn, callPlugin, type Subject } from './runtime.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const GUIDE = join(ROOT, 'docs/guides/cni-plugin.md')
const SECONDS = 300

/** Versions of Node whose executables are made, beside the one that runs this. */
const OTHERS: { readonly [D in Depth]: readonly number[] } = { full: [20, 22, 24, 26], short: [] }
const OWN = Number.parseInt(process.versions.node, 10)

/** The commands of the guide make an executable, which answers as the plugin does. */
export async function singleExecutables(
  report: Report,
  { subject, folder }: { readonly subject: Subject; readonly folder: string },
  depth: Depth,
): Promise<void> {
  const page = readFileSync(GUIDE, 'utf8').split('## Make a single executable\n')[1] ?? ''
  const [, commands = ''] = /^```sh\n([\s\S]*?)^```$/m.exec(page) ?? []
  const nodes = [process.execPath]
  for (const major of OTHERS[depth].filter((other) => other !== OWN)) {
    nodes.push((await run('npx', ['-y', `node@${major}`, '-p', 'process.execPath'], { seconds: SECONDS })).trim())
  }
  for (const node of nodes) {
    const version = (await run(node, ['--version'])).trim()
    await report.test(`an executable with Node ${version} is built, and serves ADD and DEL`, async () => {
      const image = join(folder, `image ${version}`)
      mkdirSync(image)
      const text = commands.replaceAll('image/', `"${image}"/`).replace('npx tsx ', `"${node}" --import tsx `)
      await run('sh', ['-euc', text], { cwd: ROOT, seconds: SECONDS })
      // no Node is found in its PATH
      const single = { ...subject, command: [join(image, 'ipam-kit')] as const }
      const call = (command: string) => callPlugin(single, folder, command, { container: 's1', env: { PATH: '/none' } })
      const first = addressesIn(await call('ADD'))
      assert.deepEqual(addressesIn(await call('ADD')), first)
      assert.equal((await subject.rows()).length, 1)
      assert.deepEqual([(await call('DEL')).exit, await subject.rows()], [0, []])
      assert.equal((await call('VERSION')).exit, 0)
      return undefined
    })
  }
}
