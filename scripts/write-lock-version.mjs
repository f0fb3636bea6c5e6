// Behind `changeset version` in `npm run version`: the lock gets the version of package.json. All
// else in it is as npm wrote it, and no registry is asked: npm itself would look at every package
// again, and may leave builds for other platforms out.
import { readFileSync, writeFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
lock.version = version
lock.packages[''].version = version
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`)
