import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, keyOf, withLock } from './cache.js'
import { findProgram, run } from './tools.js'

const MODULE = fileURLToPath(new URL('../kube', import.meta.url))
const BUILD_SECONDS = 40 * 60
const TELL_SECONDS = 30

const PACKAGES = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
} as const

export type KubeBinary = keyof typeof PACKAGES

/**
 * The file of a program that is built from ../kube, whose go.mod and go.sum pin it to the last byte. It is built once, which takes minutes,
 * and kept in the cache.
 *
 * @throws Error if it is not in the cache and can not be built; it says why
 */
export async function kubeBinary(name: KubeBinary): Promise<string> {
  const go = findGo()
  const mod = readFileSync(join(MODULE, 'go.mod'), 'utf8')
  const sum = readFileSync(join(MODULE, 'go.sum'), 'utf8')
  const flags = flagsFor(name, mod)
  const [version, os, arch] = (await run(go, ['env', 'GOVERSION', 'GOOS', 'GOARCH'], { cwd: MODULE, env })).split('\n')
  const folder = cacheFolder('kube', `${name}-${os}-${arch}-${keyOf(mod, sum, version!, ...flags)}`)
  const file = join(folder, name)
  if (existsSync(file)) return file
  return withLock(join(folder, 'lock'), async () => {
    if (!existsSync(file)) await build({ go, name, flags, folder, file })
    return file
  })
}

// no C compiler, and no workspace around us, has a say
const env = { CGO_ENABLED: '0', GOWORK: 'off' }

function findGo(): string {
  const go = findProgram('go', ['/usr/local/go/bin'])
  if (go !== undefined) return go
  const wanted = /^go (\S+)$/m.exec(readFileSync(join(MODULE, 'go.mod'), 'utf8'))?.[1]
  throw new Error(`no Go here: install Go ${wanted} or later, and put it on the PATH or into /usr/local/go`)
}

/** Without a version in its flags, Kubernetes says that it is v0.0.0. */
function flagsFor(name: KubeBinary, mod: string): string[] {
  const [, version, major, minor] = /k8s\.io\/kubernetes (v(\d+)\.(\d+)\S*)/.exec(mod)!
  const at = 'k8s.io/component-base/version.git'
  const versions = `-X ${at}Version=${version} -X ${at}Major=${major} -X ${at}Minor=${minor}`
  return ['-trimpath', '-buildvcs=false', `-ldflags=-s -w${name === 'etcd' ? '' : ` ${versions}`}`]
}

interface Build {
  readonly go: string
  readonly name: KubeBinary
  readonly flags: readonly string[]
  readonly folder: string
  readonly file: string
}

async function build({ go, name, flags, folder, file }: Build): Promise<void> {
  console.log(`  building ${name} with Go, for the first time here: this takes minutes`)
  const start = performance.now()
  const seconds = () => Math.round((performance.now() - start) / 1000)
  let packages = 0
  const teller = setInterval(
    () => console.log(`  building ${name}: ${seconds()} s, ${packages} packages compiled`),
    TELL_SECONDS * 1000,
  )
  const work = mkdtempSync(join(folder, 'build-'))
  try {
    await run(go, ['build', '-v', ...flags, '-o', join(work, name), PACKAGES[name]], {
      cwd: MODULE,
      env,
      seconds: BUILD_SECONDS,
      onLine: (line) => {
        if (!line.startsWith('go: ')) packages++
      },
    })
    renameSync(join(work, name), file)
    console.log(`  built ${name} in ${seconds()} s, ${packages} packages compiled`)
  } finally {
    clearInterval(teller)
    rmSync(work, { recursive: true, force: true })
  }
}
