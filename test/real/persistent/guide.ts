import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Report } from '../report.js'
import { findProgram, run } from '../servers/tools.js'
import { CLAIMS, type Ground, WEBHOOKS } from './ground.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PAGE = join(ROOT, 'docs/guides/persistent-ips.md')
const REGISTRATION = `${WEBHOOKS}/ipam-kit-persistent-claims`

/** The commands of the guide for operators, as they stand there. */
export async function guide(report: Report, { server, admin }: Ground): Promise<void> {
  await report.test('the commands of kubectl and openssl in the guide succeed', async () => {
    for (const program of ['kubectl', 'openssl']) {
      if (findProgram(program) === undefined) throw new Error(`no ${program} here: install it, and put it on the PATH`)
    }
    const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-guide-'))
    try {
      const lines = readFileSync(PAGE, 'utf8').match(/^(?:kubectl|openssl) .*$/gm) ?? []
      const kind = { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim' }
      const metadata = { name: 'db.blue', finalizers: ['kubevirt.io/persistent-ipam'] }
      await admin.send('POST', CLAIMS, { body: { ...kind, metadata, spec: { network: 'blue', interface: '' } } })
      await admin.send('DELETE', `${CLAIMS}/db.blue`)
      for (const line of lines) {
        // its files lie in a folder of the test, and those of the repository where they are
        const command = line.replaceAll('docs/examples/', `${ROOT}docs/examples/`)
        if (line.startsWith('kubectl delete mutatingwebhookconfiguration')) {
          const { webhooks } = await admin.send<Registration>('GET', REGISTRATION)
          assert.match(Buffer.from(webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString(), /BEGIN CERTIFICATE/)
        }
        await run('sh', ['-euc', command], { cwd: folder, env: { KUBECONFIG: server.kubeconfig.path }, seconds: 120 })
      }
      assert.deepEqual(await admin.list(CLAIMS), [])
      assert.deepEqual(await admin.list(WEBHOOKS), [])
      return `${lines.length} commands`
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
}

interface Registration {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[]
}
